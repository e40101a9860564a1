/* Reads the header of a Megatron .idx (magic, version, dtype, counts), and compares it with the
 * size of the file. */
#include "formats/megatron/megatron_header.h"

#include "core/bytes.h"
#include "core/convert.h"
#include "files/file_hint.h"
#include "files/input_files.h"
#include "parse/words.h"

#include <inttypes.h>
#include <string.h>

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

/* ---- Dtypes ---------------------------------------------------------------------------------- */
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

/* ---- Counts ---------------------------------------------------------------------------------- */

/* Checks a count against the size of the file. After that it is below 2^58. */
static pfd_status check_count(const pfd_host *host, const pfd_file *idx, int64_t byte,
                              uint64_t count, int64_t each, const char *what, pfd_error *err)
{
    if (count <= (uint64_t)(idx->size / each)) return PFD_OK;
    return host->fail_file(err, idx, byte, PFD_CORRUPT_DATA,
                           "the header counts %" PRIu64 " %s, of %" PRId64
                           " bytes each, but the file "
                           "has %" PRId64 " bytes; is it truncated?",
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
                                    " bytes, but a number of its dtype, %s, has "
                                    "%" PRId64,
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
    out->host = host;
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
