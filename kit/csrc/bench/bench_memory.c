/* Measures the limits of memory: touches, copies and sums the bytes of records. */
#include "core/error.h"
#include "bench/op_bench.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

void pfd_bench_touch(pfd_bench *b, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const pfd_record *record = &b->records[i];
        for (int64_t at = 0; at < record->size; at += CACHE_LINE) sum += record->data[at];
        if (record->size > 0) sum += record->data[record->size - 1];
    }
    b->sum += sum;
}

static uint64_t sum_words(const uint8_t *data, int64_t size)
{
    uint64_t sum = 0, word;
    int64_t at = 0;
    for (; at + 8 <= size; at += 8) {
        memcpy(&word, data + at, 8);
        sum += word;
    }
    if (at == size) return sum;
    word = 0;
    if (size < 8 || !IS_LITTLE_ENDIAN) {
        memcpy(&word, data + at, (size_t)(size - at));
    } else { /* without a loop: the last word of the record, less what was summed already */
        memcpy(&word, data + size - 8, 8);
        word >>= 8 * (8 - (size - at));
    }
    return sum + word;
}

void pfd_bench_sum_data(pfd_bench *b, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += sum_words(b->records[i].data, b->records[i].size);
    b->sum += sum;
}

pfd_status pfd_bench_make_room(pfd_bench *b, int64_t n, pfd_error *err)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < n; i++) bytes += b->records[i].size;
    b->bytes += bytes;
    if (bytes <= b->copy_capacity) return PFD_OK;
    uint8_t *grown = realloc(b->copy, (size_t)bytes);
    if (!grown) return pfd_fail_memory(err, bytes, "a copy of a range's data");
    memset(grown, 0, (size_t)bytes);
    b->copy = grown;
    b->copy_capacity = bytes;
    return PFD_OK;
}

void pfd_bench_copy_data(pfd_bench *b, int64_t n)
{
    uint8_t *to = b->copy;
    for (int64_t i = 0; i < n; i++) {
        const pfd_record *record = &b->records[i];
        if (record->size > 0) memcpy(to, record->data, (size_t)record->size);
        to += record->size;
    }
    if (b->copy) b->sum += b->copy[0];
}
