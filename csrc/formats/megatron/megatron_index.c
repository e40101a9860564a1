/* Checks the entries of a Megatron .idx once, and then loads them from the mapped or read file. */
#include "formats/megatron/megatron_index.h"

#include "core/bytes.h"
#include "core/scratch.h"
#include "files/input_files.h"
#include "formats/megatron/megatron_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    entries_at_once = 65536, /* how many are read and checked at once */
    block = 1024,            /* sequences whose tokens are counted together */
};

static int64_t load_i64(const uint8_t *bytes)
{
    return (int64_t)pfd_load_le64(bytes);
}

static int64_t load_i32(const uint8_t *bytes)
{
    return (int32_t)pfd_load_le32(bytes);
}

static pfd_status bytes_at(const pfd_megatron_index *index, int64_t offset, int64_t size,
                           pfd_scratch *scratch, const uint8_t **out, pfd_error *err)
{
    if (!index->data) return pfd_file_read(index->file, offset, size, scratch, out, err);
    *out = index->data + offset;
    return PFD_OK;
}

/* ---- Checking -------------------------------------------------------------------------------- */
typedef struct checker {
    const pfd_host *host;
    pfd_megatron_index *index;
    const pfd_scratch *bounds;
    pfd_scratch *scratch; /* of some entries */
    int64_t bytes;        /* the sum of the sizes of the sequences so far */
    int32_t gaps;
} checker;

static pfd_status fail_sequence(const pfd_megatron_index *index, int64_t byte, int64_t i,
                                const char *what, int64_t found, const char *expected,
                                int64_t bound, pfd_error *err)
{
    return index->host->fail_file(err, index->file, byte, PFD_CORRUPT_DATA,
                                  "sequence %" PRId64 " %s %" PRId64 "; %s %" PRId64, i, what,
                                  found, expected, bound);
}

/* Checks one sequence, of `length` tokens at byte `pointer` of the .bin. */
static pfd_status check_sequence(checker *c, int64_t i, int64_t length, int64_t pointer,
                                 pfd_error *err)
{
    pfd_megatron_index *index = c->index;
    int64_t size = index->bin->size, entry = index->lengths + (index->is_legacy ? 8 : 4) * i;
    if (length < 0 || length > size / index->element_bytes)
        return fail_sequence(index, entry, i, "has a length of", length,
                             "its .bin has tokens:", size / index->element_bytes, err);
    int64_t bytes = length * index->element_bytes;
    entry = index->pointers + 8 * i;
    if (pointer < 0 || pointer > size - bytes)
        return fail_sequence(index, entry, i, "begins at byte", pointer,
                             "the .bin is too short for it, with bytes:", size, err);
    if (pointer != c->bytes) {
        if (!c->gaps)
            return fail_sequence(
                index, entry, i, "begins at byte", pointer,
                "after the sequences before it, it would begin at the byte that follows (is this "
                "intended, set gaps=True):",
                c->bytes, err);
        index->is_contiguous = 0;
    }
    if (bytes > INT64_MAX / 2 - c->bytes) /* only if sequences occur more than once */
        return fail_sequence(index, entry, i, "has bytes,", bytes,
                             "with those before it they are too many to count:", c->bytes, err);
    if (index->tokens_before && i % block == 0)
        index->tokens_before[i / block] = c->bytes / index->element_bytes;
    c->bytes += bytes;
    return PFD_OK;
}

static pfd_status check_current(checker *c, int64_t first, int64_t n, pfd_error *err)
{
    const pfd_megatron_index *index = c->index;
    const uint8_t *lengths, *pointers;
    PFD_TRY(bytes_at(index, index->lengths + 4 * first, 4 * n, c->scratch, &lengths, err));
    PFD_TRY(bytes_at(index, index->pointers + 8 * first, 8 * n, c->scratch, &pointers, err));
    for (int64_t i = 0; i < n; i++)
        PFD_TRY(check_sequence(c, first + i, load_i32(lengths + 4 * i), load_i64(pointers + 8 * i),
                               err));
    return PFD_OK;
}

/* Old files count the beginnings of sequences in tokens, and have the end of the last one too. */
static pfd_status check_legacy(checker *c, int64_t first, int64_t n, pfd_error *err)
{
    const pfd_megatron_index *index = c->index;
    int64_t dims = index->pointers - 8 * (index->num_sequences + 1);
    const uint8_t *sizes, *starts, *ranks;
    PFD_TRY(bytes_at(index, index->lengths + 8 * first, 8 * n, c->scratch, &sizes, err));
    PFD_TRY(bytes_at(index, index->pointers + 8 * first, 8 * (n + 1), c->scratch, &starts, err));
    PFD_TRY(bytes_at(index, dims + 8 * first, 8 * (n + 1), c->scratch, &ranks, err));
    for (int64_t i = 0; i <= n; i++)
        if (load_i64(ranks + 8 * i) != first + i)
            return fail_sequence(index, dims + 8 * (first + i), first + i,
                                 "has its size at place", load_i64(ranks + 8 * i),
                                 "sequences of tokens have one size each; it should be at:",
                                 first + i, err);
    for (int64_t i = 0; i < n; i++) {
        int64_t start = load_i64(starts + 8 * i), end = load_i64(starts + 8 * i + 8);
        int64_t length = load_i64(sizes + 8 * i), most = index->bin->size / index->element_bytes;
        if (start < 0 || start > most || end - start != length)
            return fail_sequence(index, index->pointers + 8 * (first + i), first + i,
                                 "begins at token", start,
                                 "with its length it does not reach where the next one begins:",
                                 end, err);
        PFD_TRY(check_sequence(c, first + i, length, start * index->element_bytes, err));
    }
    return PFD_OK;
}

static pfd_status check_documents(checker *c, int64_t first, int64_t n, int64_t *last,
                                  pfd_error *err)
{
    const pfd_megatron_index *index = c->index;
    const uint8_t *entries;
    PFD_TRY(bytes_at(index, index->documents + 8 * first, 8 * n, c->scratch, &entries, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = load_i64(entries + 8 * i);
        if (begin < *last || begin > index->num_sequences || (first + i == 0 && begin != 0))
            return c->host->fail_file(
                err, index->file, index->documents + 8 * (first + i), PFD_CORRUPT_DATA,
                "document %" PRId64 " begins with sequence %" PRId64
                ", and the one before it with %" PRId64 "; they begin at 0, never "
                "go down and end at %" PRId64,
                first + i, begin, *last, index->num_sequences);
        *last = begin;
    }
    return PFD_OK;
}

typedef pfd_status (*check_some)(checker *c, int64_t first, int64_t n, int64_t *last,
                                 pfd_error *err);

static pfd_status check_sequences(checker *c, int64_t first, int64_t n, int64_t *last,
                                  pfd_error *err)
{
    (void)last;
    return c->index->is_legacy ? check_legacy(c, first, n, err) : check_current(c, first, n, err);
}

static pfd_status check_each(checker *c, check_some check, int64_t num, int64_t *last,
                             pfd_error *err)
{
    for (int64_t first = 0; first < num; first += entries_at_once) {
        int64_t n = num - first < entries_at_once ? num - first : entries_at_once;
        if (pfd_scratch_is_cancelled(c->bounds))
            return c->host->fail(err, PFD_CANCELLED, "the loader is closing");
        PFD_TRY(check(c, first, n, last, err));
        pfd_scratch_reset(c->scratch);
    }
    return PFD_OK;
}

static pfd_status check_all(checker *c, pfd_error *err)
{
    pfd_megatron_index *index = c->index;
    int64_t last = 0;
    PFD_TRY(pfd_megatron_header_read(c->host, index->file, c->scratch, index, err));
    if (c->gaps) {
        size_t blocks = (size_t)(index->num_sequences / block + 1);
        index->tokens_before = calloc(blocks, sizeof *index->tokens_before);
        if (!index->tokens_before)
            return c->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for an index");
    }
    index->is_contiguous = 1;
    PFD_TRY(check_each(c, check_sequences, index->num_sequences, NULL, err));
    PFD_TRY(check_each(c, check_documents, index->num_documents + 1, &last, err));
    index->num_tokens = c->bytes / index->element_bytes;
    if (last != index->num_sequences)
        return c->host->fail_file(
            err, index->file, index->documents + 8 * index->num_documents, PFD_CORRUPT_DATA,
            "the last document ends with sequence %" PRId64 ", but there are %" PRId64 " sequences",
            last, index->num_sequences);
    if (c->bytes != index->bin->size && !c->gaps)
        return c->host->fail_file(
            err, index->bin, c->bytes, PFD_CORRUPT_DATA,
            "the file has %" PRId64 " bytes, but its .idx covers %" PRId64
            "; does the .idx belong to it?  If bytes are left out on purpose, set "
            "gaps=True",
            index->bin->size, c->bytes);
    if (c->bytes != index->bin->size) index->is_contiguous = 0;
    return PFD_OK;
}

pfd_status pfd_megatron_index_open(const pfd_host *host, const pfd_file *idx, const pfd_file *bin,
                                   int32_t gaps, const pfd_scratch *bounds,
                                   pfd_megatron_index *out, pfd_error *err)
{
    *out = (pfd_megatron_index){.file = idx, .bin = bin, .data = pfd_file_data(idx)};
    checker c = {.host = host,
                 .index = out,
                 .bounds = bounds,
                 .scratch = pfd_scratch_create(),
                 .gaps = gaps};
    pfd_status status = c.scratch ? check_all(&c, err)
                                  : host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a scratch");
    pfd_scratch_free(c.scratch);
    if (status != PFD_OK) pfd_megatron_index_close(out);
    return status;
}

void pfd_megatron_index_close(pfd_megatron_index *index)
{
    free(index->tokens_before);
    index->tokens_before = NULL;
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* The file may have changed since it was checked. */
static pfd_status fail_changed(const pfd_megatron_index *index, int64_t i, pfd_error *err)
{
    return index->host->fail_file(err, index->file, index->pointers + 8 * i, PFD_IO,
                                  "sequence %" PRId64
                                  " is not within the .bin any more: the file changed "
                                  "while open",
                                  i);
}

pfd_status pfd_megatron_sequence(const pfd_megatron_index *index, int64_t i, pfd_scratch *scratch,
                                 pfd_token_range *out, pfd_error *err)
{
    const uint8_t *length, *pointer;
    int64_t width = index->is_legacy ? 8 : 4, size = index->bin->size;
    PFD_TRY(bytes_at(index, index->lengths + width * i, width, scratch, &length, err));
    PFD_TRY(bytes_at(index, index->pointers + 8 * i, 8, scratch, &pointer, err));
    out->num_tokens = index->is_legacy ? load_i64(length) : load_i32(length);
    out->offset = load_i64(pointer);
    if (out->offset < 0 || out->offset > size || out->num_tokens < 0) /* tokens, or bytes */
        return fail_changed(index, i, err);
    if (index->is_legacy) out->offset *= index->element_bytes;
    if (out->num_tokens > size / index->element_bytes ||
        out->offset > size - out->num_tokens * index->element_bytes)
        return fail_changed(index, i, err);
    return PFD_OK;
}

pfd_status pfd_megatron_document(const pfd_megatron_index *index, int64_t i, pfd_scratch *scratch,
                                 int64_t *first, int64_t *end, pfd_error *err)
{
    const uint8_t *entries;
    PFD_TRY(bytes_at(index, index->documents + 8 * i, 16, scratch, &entries, err));
    *first = load_i64(entries);
    *end = load_i64(entries + 8);
    if (*first >= 0 && *first <= *end && *end <= index->num_sequences) return PFD_OK;
    return index->host->fail_file(err, index->file, index->documents + 8 * i, PFD_IO,
                                  "document %" PRId64
                                  " has no place among the sequences any more: the file "
                                  "changed while open",
                                  i);
}

/* Finds the last block that begins at or before `token`. */
static int64_t block_of(const pfd_megatron_index *index, int64_t token)
{
    int64_t low = 0, high = (index->num_sequences - 1) / block;
    while (low < high) {
        int64_t middle = high - (high - low) / 2;
        if (index->tokens_before[middle] <= token)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

pfd_status pfd_megatron_find_token(const pfd_megatron_index *index, int64_t token,
                                   pfd_scratch *scratch, pfd_token_range *out, pfd_error *err)
{
    int64_t first = block_of(index, token) * block;
    int64_t left = token - index->tokens_before[first / block];
    int64_t n = index->num_sequences - first < block ? index->num_sequences - first : block;
    int64_t width = index->is_legacy ? 8 : 4;
    const uint8_t *lengths;
    PFD_TRY(bytes_at(index, index->lengths + width * first, width * n, scratch, &lengths, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t length =
            index->is_legacy ? load_i64(lengths + 8 * i) : load_i32(lengths + 4 * i);
        if (left < length) {
            PFD_TRY(pfd_megatron_sequence(index, first + i, scratch, out, err));
            if (left >= out->num_tokens) return fail_changed(index, first + i, err);
            out->offset += left * index->element_bytes;
            out->num_tokens -= left;
            return PFD_OK;
        }
        left -= length;
    }
    return fail_changed(index, first, err);
}
