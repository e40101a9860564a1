/* Finds the shard of a record by a binary search. */
#include "index/shard_table.h"

#include "core/error.h"
#include "files/file_read.h"

#include <stdlib.h>

pfd_status pfd_shard_table_add(pfd_shard_table *table, int64_t num_records, pfd_error *err)
{
    if (table->size + 1 >= table->capacity) {
        int64_t capacity = table->capacity > 0 ? 2 * table->capacity : 64;
        int64_t *grown = realloc(table->first, (size_t)capacity * sizeof *grown);
        if (!grown) return pfd_fail_memory(err, capacity * (int64_t)sizeof *grown, "shards");
        table->first = grown;
        table->capacity = capacity;
        if (table->size == 0) grown[0] = 0;
    }
    int64_t all;
    if (__builtin_add_overflow(table->first[table->size], num_records, &all))
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "the shards have more than 2^63 records");
    table->first[++table->size] = all;
    return PFD_OK;
}

void pfd_shard_table_free(pfd_shard_table *table)
{
    free(table->first);
    *table = (pfd_shard_table){0};
}

int64_t pfd_shard_of(const pfd_shard_table *table, int64_t ordinal)
{
    int64_t low = 0, high = table->size;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (table->first[middle] <= ordinal)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void pfd_shard_prefetch(const pfd_file *file, int64_t offset, int64_t size)
{
    enum { LINE = 64, LINES = 4 };
    const uint8_t *data = pfd_file_data(file);
    for (int64_t at = 0; data && at < size && at < LINES * LINE; at += LINE)
        __builtin_prefetch(data + offset + at);
}
