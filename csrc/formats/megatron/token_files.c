/* Opens pairs of .bin and .idx, and flat files of tokens.  Opening compares the header of an .idx
 * with the size of the file and checks its entries; then entries are loaded from the file. */
#include "formats/megatron/token_files.h"

#include "core/bytes.h"
#include "core/scratch.h"
#include "core/search.h"
#include "core/system_calls.h"
#include "files/codecs.h"
#include "files/file_hint.h"
#include "files/file_read.h"
#include "formats/megatron/widen.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The header of an .idx: magic, version, dtype, counts ------------------------------------ */

enum {
    MAGIC_BYTES = 9,
    CURRENT_DTYPE = 17,
    CURRENT_HEADER = 34,
    FAIRSEQ_HEADER = 26, /* without a number of documents, and without the documents */
    LEGACY_MAGIC = 8,
    LEGACY_HEADER = 56,
    LEGACY_FAIRSEQ_HEADER = 48,
};

static const char CURRENT[MAGIC_BYTES] = "MMIDIDX\0";
static const char LEGACY[LEGACY_MAGIC] = "TNTIDX\0";

#define WHAT_TO_DO                                                                                 \
    "write the tokens again with Megatron-LM's tools/preprocess_data.py or its "                   \
    "IndexedDatasetBuilder"

static pfd_status fail_dtype(const pfd_host *host, const pfd_file *idx, int64_t byte, uint64_t code,
                             pfd_error *err)
{
    static const char *const what[] = {
        [6] = "float64",
        [7] = "float32 in Megatron-LM, and float64 in fairseq and older forks",
        [9] = "uint32 in fairseq, and nothing in Megatron-LM",
        [10] = "uint64 in fairseq, and nothing in Megatron-LM",
    };
    const char *name = code < PFD_COUNT(what) ? what[code] : NULL;
    return host->fail_file(err, idx, byte, name ? PFD_UNSUPPORTED : PFD_CORRUPT_DATA,
                           "the dtype code is %" PRIu64 "%s%s; tokens are integers: 1 (uint8), 2 "
                           "(int8), 3 (int16), 4 (int32), 5 (int64) or 8 (uint16)",
                           code, name ? ", which is " : ", which is unknown", name ? name : "");
}

static pfd_status set_dtype(const pfd_file *idx, int64_t byte, uint64_t code,
                            pfd_megatron_index *out, pfd_error *err)
{
    static const int32_t dtypes[] = {[1] = PFD_UINT8, [2] = PFD_INT8,  [3] = PFD_INT16,
                                     [4] = PFD_INT32, [5] = PFD_INT64, [8] = PFD_UINT16};
    out->dtype = code < PFD_COUNT(dtypes) ? dtypes[code] : 0;
    out->element_bytes = pfd_dtype_size(out->dtype);
    return out->dtype ? PFD_OK : fail_dtype(out->host, idx, byte, code, err);
}

/* Checks a count of entries against the size of the file, so that sums of their bytes do not
 * overflow. */
static pfd_status check_count(const pfd_host *host, const pfd_file *idx, int64_t byte,
                              uint64_t count, int64_t each, const char *what, pfd_error *err)
{
    if (count <= (uint64_t)(idx->size / each)) return PFD_OK;
    return host->fail_file(err, idx, byte, PFD_CORRUPT_DATA,
                           "the header counts %" PRIu64 " %s, of %" PRId64
                           " bytes each, but the file has %" PRId64 " bytes; is it truncated?",
                           count, what, each, idx->size);
}

static pfd_status fail_fairseq(const pfd_host *host, const pfd_file *idx, int64_t byte,
                               pfd_error *err)
{
    return host->fail_file(
        err, idx, byte, PFD_UNSUPPORTED,
        "this is an .idx of fairseq, as the size of the file shows: it has no index of "
        "documents%s; " WHAT_TO_DO,
        byte == LEGACY_MAGIC ? ", and its tokens are stored plus one" : "");
}

static pfd_status fail_size(const pfd_host *host, const pfd_file *idx, int64_t byte,
                            int64_t expected, pfd_error *err)
{
    return host->fail_file(err, idx, byte, PFD_CORRUPT_DATA,
                           "the file has %" PRId64
                           " bytes, and by the counts in its header %" PRId64
                           "; is it cut short, or of another program?",
                           idx->size, expected);
}

static pfd_status check_version(const pfd_host *host, const pfd_file *idx, int64_t byte,
                                uint64_t version, pfd_error *err)
{
    if (version == 1) return PFD_OK;
    return host->fail_file(err, idx, byte, PFD_UNSUPPORTED,
                           "the version is %" PRIu64 "; the only one known is 1", version);
}

/* ---- The two versions ------------------------------------------------------------------------ */

static pfd_status read_current(const pfd_file *idx, pfd_scratch *scratch, pfd_megatron_index *out,
                               pfd_error *err)
{
    const uint8_t *header;
    PFD_TRY(pfd_file_read(idx, 0, FAIRSEQ_HEADER, scratch, &header, err));
    PFD_TRY(check_version(out->host, idx, MAGIC_BYTES, pfd_load_le64(header + MAGIC_BYTES), err));
    uint64_t sequences = pfd_load_le64(header + CURRENT_DTYPE + 1);
    if (sequences <= (uint64_t)idx->size / 12 &&
        idx->size == FAIRSEQ_HEADER + 12 * (int64_t)sequences)
        return fail_fairseq(out->host, idx, CURRENT_DTYPE + 1, err);
    PFD_TRY(set_dtype(idx, CURRENT_DTYPE, header[CURRENT_DTYPE], out, err));
    PFD_TRY(pfd_file_read(idx, 0, CURRENT_HEADER, scratch, &header, err));
    uint64_t documents = pfd_load_le64(header + FAIRSEQ_HEADER);
    PFD_TRY(check_count(out->host, idx, CURRENT_DTYPE + 1, sequences, 12, "sequences", err));
    PFD_TRY(
        check_count(out->host, idx, FAIRSEQ_HEADER, documents, 8, "entries for documents", err));
    int64_t n = (int64_t)sequences, plain = CURRENT_HEADER + 12 * n + 8 * (int64_t)documents;
    if (documents < 1 || (idx->size != plain && idx->size != plain + n))
        return fail_size(out->host, idx, CURRENT_DTYPE + 1, plain, err);
    out->num_sequences = n;
    out->num_documents = (int64_t)documents - 1;
    out->lengths = CURRENT_HEADER;
    out->pointers = out->lengths + 4 * n;
    out->documents = out->pointers + 8 * n;
    return PFD_OK;
}

static pfd_status check_legacy_sizes(const pfd_host *host, const pfd_file *idx,
                                     const uint64_t *counts, pfd_error *err)
{
    static const char *const what[] = {"sequences", "sizes", "entries for documents"};
    static const int64_t each[] = {16, 8, 8};
    int64_t arrays = 16;
    for (int i = 0; i < 2; i++)
        PFD_TRY(check_count(host, idx, 32 + 8 * i, counts[i], each[i], what[i], err));
    for (int i = 0; i < 2; i++) arrays += each[i] * (int64_t)counts[i];
    if (idx->size == LEGACY_FAIRSEQ_HEADER + arrays)
        return fail_fairseq(host, idx, LEGACY_MAGIC, err);
    PFD_TRY(check_count(host, idx, 48, counts[2], each[2], what[2], err));
    arrays += 8 * (int64_t)counts[2];
    if (counts[2] < 1 || idx->size != LEGACY_HEADER + arrays)
        return fail_size(host, idx, 32, LEGACY_HEADER + arrays, err);
    if (counts[0] == counts[1]) return PFD_OK;
    return host->fail_file(err, idx, 40, PFD_UNSUPPORTED,
                           "there are %" PRIu64 " sizes for %" PRIu64
                           " sequences; each sequence of tokens has one",
                           counts[1], counts[0]);
}

static pfd_status read_legacy(const pfd_file *idx, pfd_scratch *scratch, pfd_megatron_index *out,
                              pfd_error *err)
{
    const uint8_t *header;
    PFD_TRY(pfd_file_read(idx, 0, LEGACY_HEADER, scratch, &header, err));
    uint64_t fields[6];
    for (int i = 0; i < 6; i++) fields[i] = pfd_load_le64(header + LEGACY_MAGIC + 8 * i);
    PFD_TRY(check_version(out->host, idx, LEGACY_MAGIC, fields[0], err));
    PFD_TRY(check_legacy_sizes(out->host, idx, fields + 3, err));
    PFD_TRY(set_dtype(idx, 16, fields[1], out, err));
    if (fields[2] != (uint64_t)out->element_bytes)
        return out->host->fail_file(err, idx, 24, PFD_CORRUPT_DATA,
                                    "a token has %" PRIu64
                                    " bytes, but a number of its dtype, %s, has %" PRId64,
                                    fields[2], pfd_dtype_name(out->dtype), out->element_bytes);
    int64_t n = (int64_t)fields[3];
    out->is_legacy = 1;
    out->num_sequences = n;
    out->num_documents = (int64_t)fields[5] - 1;
    out->pointers = LEGACY_HEADER + 8 * (n + 1); /* after the array of sizes */
    out->lengths = out->pointers + 8 * (n + 1);
    out->documents = out->lengths + 8 * n;
    return PFD_OK;
}

pfd_status pfd_megatron_header_read(const pfd_host *host, const pfd_file *idx, pfd_scratch *scratch,
                                    pfd_megatron_index *out, pfd_error *err)
{
    const uint8_t *begin;
    out->host = host;
    int64_t size = idx->size < MAGIC_BYTES ? idx->size : MAGIC_BYTES;
    PFD_TRY(pfd_file_read(idx, 0, size, scratch, &begin, err));
    if (size >= LEGACY_MAGIC && !memcmp(begin, LEGACY, LEGACY_MAGIC))
        return read_legacy(idx, scratch, out, err);
    if (size == MAGIC_BYTES && !memcmp(begin, CURRENT, MAGIC_BYTES))
        return read_current(idx, scratch, out, err);
    char found[256], seems[100];
    const uint8_t *head = begin;
    int64_t enough = idx->size < PFD_HINT_BYTES ? idx->size : PFD_HINT_BYTES;
    PFD_TRY(pfd_file_read(idx, 0, enough, scratch, &head, err));
    const char *other = host->looks_like(head, enough, "megatron");
    return host->fail_file(
        err, idx, 0, PFD_CORRUPT_DATA,
        "the file begins with %s; an .idx of Megatron-LM begins with MMIDIDX, or "
        "with TNTIDX if it is an old one%s",
        size > 0 ? pfd_quote_bytes(begin, size, found, sizeof found) : "nothing",
        pfd_looks_like_hint(other, "", seems, sizeof seems));
}

/* ---- The entries of an .idx ------------------------------------------------------------------ */

enum {
    entries_at_once = 65536, /* entries that are read and checked at once */
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

typedef struct checker {
    const pfd_host *host;
    pfd_megatron_index *index;
    const pfd_scratch *bounds;
    pfd_scratch *scratch; /* of some entries */
    int64_t bytes;        /* of the sequences so far */
    int64_t document;     /* the first sequence of the last document so far */
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
    if (bytes > INT64_MAX / 2 - c->bytes) /* possible if sequences occur more than once */
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

/* Old files state in tokens where sequences begin, and where the last sequence ends. */
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

static pfd_status check_documents(checker *c, int64_t first, int64_t n, pfd_error *err)
{
    const pfd_megatron_index *index = c->index;
    const uint8_t *entries;
    PFD_TRY(bytes_at(index, index->documents + 8 * first, 8 * n, c->scratch, &entries, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = load_i64(entries + 8 * i);
        if (begin < c->document || begin > index->num_sequences || (first + i == 0 && begin != 0))
            return c->host->fail_file(
                err, index->file, index->documents + 8 * (first + i), PFD_CORRUPT_DATA,
                "document %" PRId64 " begins with sequence %" PRId64
                ", and the one before it with %" PRId64 "; they begin at 0, never "
                "go down and end at %" PRId64,
                first + i, begin, c->document, index->num_sequences);
        c->document = begin;
    }
    return PFD_OK;
}

typedef pfd_status (*check_some)(checker *c, int64_t first, int64_t n, pfd_error *err);

static pfd_status check_each(checker *c, check_some check, int64_t num, pfd_error *err)
{
    for (int64_t first = 0; first < num; first += entries_at_once) {
        int64_t n = num - first < entries_at_once ? num - first : entries_at_once;
        if (pfd_scratch_is_cancelled(c->bounds))
            return c->host->fail(err, PFD_CANCELLED, "the loader is closing");
        PFD_TRY(check(c, first, n, err));
        pfd_scratch_reset(c->scratch);
    }
    return PFD_OK;
}

static pfd_status check_all(checker *c, pfd_error *err)
{
    pfd_megatron_index *index = c->index;
    PFD_TRY(pfd_megatron_header_read(c->host, index->file, c->scratch, index, err));
    if (c->gaps) {
        size_t blocks = (size_t)(index->num_sequences / block + 1);
        index->tokens_before = calloc(blocks, sizeof *index->tokens_before);
        if (!index->tokens_before)
            return c->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for an index");
    }
    index->is_contiguous = 1;
    check_some check_sequences = index->is_legacy ? check_legacy : check_current;
    PFD_TRY(check_each(c, check_sequences, index->num_sequences, err));
    PFD_TRY(check_each(c, check_documents, index->num_documents + 1, err));
    index->num_tokens = c->bytes / index->element_bytes;
    if (c->document != index->num_sequences)
        return c->host->fail_file(
            err, index->file, index->documents + 8 * index->num_documents, PFD_CORRUPT_DATA,
            "the last document ends with sequence %" PRId64 ", but there are %" PRId64 " sequences",
            c->document, index->num_sequences);
    if (c->bytes != index->bin->size && !c->gaps)
        return c->host->fail_file(
            err, index->bin, c->bytes, PFD_CORRUPT_DATA,
            "the file has %" PRId64 " bytes, but its .idx covers %" PRId64
            "; does the .idx belong to it?  If bytes are left out on purpose, set gaps=True",
            index->bin->size, c->bytes);
    if (c->bytes != index->bin->size) index->is_contiguous = 0;
    return PFD_OK;
}

/* Opens an index, which pfd_token_files_close() closes.  `gaps`: sequences may be anywhere in the
 * .bin, overlap, and leave bytes out. */
static pfd_status megatron_index_open(const pfd_host *host, const pfd_file *idx,
                                      const pfd_file *bin, int32_t gaps, const pfd_scratch *bounds,
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
    return status;
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* Reports an entry that no longer fits: the file changed after it was checked. */
static pfd_status fail_changed(const pfd_megatron_index *index, int64_t i, pfd_error *err)
{
    return index->host->fail_file(err, index->file, index->pointers + 8 * i, PFD_IO,
                                  "sequence %" PRId64
                                  " is not within the .bin any more: the file changed while open",
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
    if (out->offset < 0 || out->offset > size || out->num_tokens < 0)
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

/* Finds token number `token` of all sequences, and the tokens after it in its sequence.  The index
 * must not be contiguous.  It costs a binary search and at most 1024 entries. */
static pfd_status megatron_find_token(const pfd_megatron_index *index, int64_t token,
                                      pfd_scratch *scratch, pfd_token_range *out, pfd_error *err)
{
    int64_t blocks = (index->num_sequences + block - 1) / block;
    int64_t number = pfd_last_at_most(index->tokens_before, (int64_t)sizeof(int64_t), 0, blocks,
                                      token);
    int64_t first = number * block, left = token - index->tokens_before[number];
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

static int32_t ends_with(const char *path, const char *suffix)
{
    size_t size = strlen(path), tail = strlen(suffix);
    return size > tail && !strcmp(path + size - tail, suffix);
}

/* Finds the opened file whose path is `file`'s with this suffix of four letters; NULL: none. */
static const pfd_file *find_partner(const pfd_open_args *args, const pfd_file *file,
                                    const char *suffix)
{
    size_t size = strlen(file->path);
    for (int64_t i = 0; i < args->num_files; i++) {
        const char *path = args->files[i]->path;
        if (ends_with(path, suffix) && strlen(path) == size && !strncmp(path, file->path, size - 4))
            return args->files[i];
    }
    return NULL;
}

static int32_t is_there(const char *path)
{
    struct stat st;
    return pfd_sys_stat(NULL, AT_FDCWD, path, &st) == 0;
}

/* Adds a path, the first `size` characters of `path` and a suffix, unless the user gave it, too. If
 * must_be is 0, adds the path only if the file exists. */
static pfd_status add(const pfd_companion_args *args, const char *path, size_t size,
                      const char *suffix, int32_t must_be, pfd_error *err)
{
    char *partner = malloc(size + strlen(suffix) + 1);
    if (!partner) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a path");
    memcpy(partner, path, size);
    strcpy(partner + size, suffix);
    int32_t adds = must_be || is_there(partner);
    for (int64_t i = 0; i < args->num_paths && adds; i++)
        adds = strcmp(args->paths[i], partner) != 0;
    pfd_status status = adds ? args->add(args->list, partner, err) : PFD_OK;
    free(partner);
    return status;
}

/* A path that does not exist may be the common prefix of a pair.  Then *out is the path of its
 * .bin, or of its .idx if only that exists; otherwise *out is NULL.  The caller must free() it. */
static pfd_status find_half(const pfd_host *host, const char *path, int32_t has_index, char **out,
                            pfd_error *err)
{
    static const char *const endings[] = {".bin", ".idx"};
    *out = NULL;
    if (is_there(path)) return PFD_OK;
    for (int32_t k = 0; k <= has_index; k++) {
        if (asprintf(out, "%s%s", path, endings[k]) < 0) {
            *out = NULL;
            return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a path");
        }
        if (is_there(*out)) return PFD_OK;
        free(*out);
        *out = NULL;
    }
    return PFD_OK;
}

/* Adds the other half of a pair. If the pair was given by its prefix, open() reports a missing
 * half. */
static pfd_status add_partner(const pfd_companion_args *args, const char *path, int32_t format,
                              int32_t is_named, pfd_error *err)
{
    size_t size = strlen(path);
    int32_t needs_index = is_named && format == PFD_TOKENS_MEGATRON;
    if (format == PFD_TOKENS_FLAT) return PFD_OK;
    if (ends_with(path, ".bin")) return add(args, path, size - 4, ".idx", needs_index, err);
    return ends_with(path, ".idx") ? add(args, path, size - 4, ".bin", is_named, err) : PFD_OK;
}

pfd_status pfd_token_companions(const pfd_companion_args *args, int32_t format, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_paths; i++) {
        char *half;
        PFD_TRY(find_half(args->host, args->paths[i], format != PFD_TOKENS_FLAT, &half, err));
        pfd_status status = half ? args->replace(args->list, i, half, err) : PFD_OK;
        if (status == PFD_OK)
            status = add_partner(args, half ? half : args->paths[i], format, !half, err);
        free(half);
        PFD_TRY(status);
    }
    return PFD_OK;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static pfd_status fail_unpaired(const pfd_host *host, const pfd_file *file, int32_t is_index,
                                pfd_error *err)
{
    if (is_index)
        return host->fail_file(err, file, -1, PFD_INVALID_ARGUMENT,
                               "the .bin of this .idx is not among the files");
    return host->fail_file(
        err, file, -1, PFD_INVALID_ARGUMENT,
        "the file has no .idx, which would give its dtype and documents; if it has "
        "only tokens (as nanoGPT writes them), set file_dtype, usually to 'uint16'");
}

/* The compression of the .bin of an .idx is not detected: tokens may look like the beginning of a
 * compressed file, and the .idx gives their number. */
static pfd_status open_pair(const pfd_open_args *args, const pfd_token_options *options,
                            const pfd_file *idx, pfd_token_file *out, pfd_error *err)
{
    PFD_TRY(pfd_compression_refuse(idx, err));
    PFD_TRY(megatron_index_open(args->host, idx, out->bin, options->gaps, args->scratch,
                                &out->index, err));
    out->dtype = out->index.dtype;
    if (options->header_bytes > 0)
        return args->host->fail_attr(err, "header_bytes", out->bin, PFD_INVALID_ARGUMENT,
                                     " = %" PRId64
                                     ", but files with an .idx have no header; leave it out, "
                                     "or set format='flat'",
                                     options->header_bytes);
    if (options->file_dtype && options->file_dtype != out->dtype)
        return args->host->fail_attr(
            err, "file_dtype", idx, PFD_INVALID_ARGUMENT,
            " = '%s', and the .idx says %s; leave it out, or set format='flat' if "
            "the .idx is of another file",
            pfd_dtype_name(options->file_dtype), pfd_dtype_name(out->dtype));
    return PFD_OK;
}

static pfd_status open_flat(const pfd_host *host, const pfd_token_options *options,
                            pfd_token_file *out, pfd_error *err)
{
    PFD_TRY(pfd_compression_refuse(out->bin, err));
    const pfd_file *bin = out->bin;
    out->dtype = options->file_dtype;
    out->header_bytes = options->header_bytes;
    int64_t each = pfd_dtype_size(out->dtype), bytes = bin->size - out->header_bytes;
    if (bytes < 0)
        return host->fail_file(err, bin, bin->size, PFD_CORRUPT_DATA,
                               "the file ends at byte %" PRId64 ", and header_bytes = %" PRId64,
                               bin->size, out->header_bytes);
    if (bytes % each == 0) return PFD_OK;
    return host->fail_file(err, bin, bin->size - bytes % each, PFD_CORRUPT_DATA,
                           "the last token, which begins here, has %" PRId64 " of %" PRId64
                           " bytes; is the file truncated, or is its dtype not %s?",
                           bytes % each, each, pfd_dtype_name(out->dtype));
}

/* Sets the numbers with which the next file begins. */
static pfd_status add_up(const pfd_host *host, const pfd_token_file *file, pfd_token_file *next,
                         pfd_error *err)
{
    const pfd_megatron_index *index = &file->index;
    int64_t tokens = index->num_tokens;
    if (!index->file) tokens = (file->bin->size - file->header_bytes) / file->element_bytes;
    if (tokens > INT64_MAX / 16 - file->first_token)
        return host->fail(err, PFD_INVALID_ARGUMENT, "the files have too many tokens together");
    next->first_token = file->first_token + tokens;
    next->first_sequence = file->first_sequence + index->num_sequences;
    next->first_document = file->first_document + index->num_documents;
    return PFD_OK;
}

static pfd_status check_row_dtype(const pfd_host *host, const pfd_token_file *file,
                                  int32_t row_dtype, pfd_error *err)
{
    if (pfd_widen_best(file->dtype, row_dtype)) return PFD_OK;
    return host->fail_attr(err, "dtype", file->bin, PFD_INVALID_ARGUMENT,
                           " = '%s', but the tokens of the file are %s, which do not all fit into "
                           "that dtype; use the dtype of the file, or a wider one such as 'int64'",
                           pfd_dtype_name(row_dtype), pfd_dtype_name(file->dtype));
}

static pfd_status open_one(const pfd_open_args *args, const pfd_token_options *options,
                           const pfd_file *idx, pfd_token_file *file, pfd_error *err)
{
    if (idx)
        PFD_TRY(open_pair(args, options, idx, file, err));
    else
        PFD_TRY(open_flat(args->host, options, file, err));
    file->element_bytes = pfd_dtype_size(file->dtype);
    PFD_TRY(check_row_dtype(args->host, file, options->row_dtype, err));
    return add_up(args->host, file, file + 1, err);
}

static pfd_status check_dtypes(const pfd_token_files *files, pfd_error *err)
{
    for (int64_t i = 1; i < files->num_files; i++) {
        const pfd_token_file *file = &files->files[i];
        if (file->dtype == files->files[0].dtype) continue;
        return files->host->fail_file(
            err, file->bin, -1, PFD_INVALID_ARGUMENT,
            "the file has tokens of %s, and the first file, %s, of %s; windows that "
            "go from one to the other need one dtype: are both of one tokenizer?",
            pfd_dtype_name(file->dtype), files->files[0].bin->path,
            pfd_dtype_name(files->files[0].dtype));
    }
    return PFD_OK;
}

/* Finds the .bin and the .idx of a file; the .idx of a flat file is NULL.  *bin is NULL if the
 * other half of the pair was given before. */
static pfd_status find_pair(const pfd_open_args *args, const pfd_token_options *options, int64_t i,
                            const pfd_file **bin, const pfd_file **idx, pfd_error *err)
{
    const pfd_file *file = args->files[i], *partner = NULL;
    int32_t is_index = ends_with(file->path, ".idx");
    if (options->format != PFD_TOKENS_FLAT && (is_index || ends_with(file->path, ".bin")))
        partner = find_partner(args, file, is_index ? ".bin" : ".idx");
    *bin = is_index && partner ? partner : file;
    *idx = is_index && partner ? file : partner;
    int32_t may_be_flat = options->format == PFD_TOKENS_FLAT ||
                          (options->format == PFD_TOKENS_AUTO && options->file_dtype && !is_index);
    if (!partner && !may_be_flat) return fail_unpaired(args->host, file, is_index, err);
    for (int64_t k = 0; k < i; k++)
        if (partner && args->files[k] == partner) *bin = NULL;
    return PFD_OK;
}

static pfd_status open_all(const pfd_open_args *args, const pfd_token_options *options,
                           pfd_token_files *out, pfd_error *err)
{
    if (options->format == PFD_TOKENS_FLAT && !options->file_dtype)
        return args->host->fail_attr(
            err, "format", NULL, PFD_INVALID_ARGUMENT,
            " = 'flat' needs file_dtype too, usually 'uint16': a flat file does not "
            "state the dtype of its tokens");
    for (int64_t i = 0; i < args->num_files; i++) {
        const pfd_file *bin, *idx;
        PFD_TRY(find_pair(args, options, i, &bin, &idx, err));
        if (!bin) continue;
        out->files[out->num_files].bin = bin;
        PFD_TRY(open_one(args, options, idx, &out->files[out->num_files++], err));
    }
    const pfd_token_file *end = &out->files[out->num_files];
    out->num_tokens = end->first_token;
    out->num_sequences = end->first_sequence;
    out->num_documents = end->first_document;
    return options->same_dtype ? check_dtypes(out, err) : PFD_OK;
}

pfd_status pfd_token_files_open(const pfd_open_args *args, const pfd_token_options *options,
                                pfd_token_files *out, pfd_error *err)
{
    *out = (pfd_token_files){.host = args->host,
                             .files = calloc((size_t)args->num_files + 1, sizeof *out->files)};
    if (!out->files) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for files");
    return open_all(args, options, out, err);
}

void pfd_token_files_close(pfd_token_files *files)
{
    for (int64_t i = 0; files->files && i < files->num_files; i++)
        free(files->files[i].index.tokens_before);
    free(files->files);
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* Finds the last file whose `first` is not above the number: it is not empty. */
#define FILE_OF(name, first)                                                                       \
    const pfd_token_file *name(const pfd_token_files *files, int64_t number)                       \
    {                                                                                              \
        return files->files + pfd_last_at_most(&files->files->first,                               \
                                               (int64_t)sizeof(pfd_token_file), 0,                 \
                                               files->num_files, number);                          \
    }
FILE_OF(pfd_file_of_token, first_token)
FILE_OF(pfd_file_of_sequence, first_sequence)
FILE_OF(pfd_file_of_document, first_document)

pfd_status pfd_token_place(const pfd_token_file *file, int64_t token, pfd_scratch *scratch,
                           pfd_token_range *out, pfd_error *err)
{
    int64_t number = token - file->first_token;
    if (file->index.file && !file->index.is_contiguous)
        return megatron_find_token(&file->index, number, scratch, out, err);
    *out = (pfd_token_range){file->header_bytes + number * file->element_bytes,
                             file[1].first_token - token};
    return PFD_OK;
}
