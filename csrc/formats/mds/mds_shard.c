/* Reads offsets and samples of MDS shards. */
#include "formats/mds/mds_shard.h"

#include "files/file_hint.h"

#include <inttypes.h>
#include <string.h>

/* Reads bytes of the file, or of the decompressed shard. */
static pfd_status read_bytes(const pfd_host *host, const pfd_mds_bytes *from, int64_t offset,
                             int64_t size, pfd_scratch *scratch, const uint8_t **data,
                             pfd_error *err)
{
    if (!from->inflated) return host->read(from->file, offset, size, scratch, data, err);
    if (offset > from->size || size > from->size - offset)
        return host->fail_file(err, from->file, -1, PFD_CORRUPT_DATA,
                               "the decompressed shard ends at byte %" PRId64 ", but %" PRId64
                               " bytes are expected from byte %" PRId64,
                               from->size, size, offset);
    *data = from->inflated + offset;
    return PFD_OK;
}

/* Fails at an offset in the shard. */
static pfd_status fail_shard(const pfd_host *host, const pfd_mds_bytes *from, int64_t at,
                             const char *found, int64_t number, int64_t expected, pfd_error *err)
{
    int32_t is_plain = !from->inflated;
    return host->fail_file(err, from->file, is_plain ? at : -1, PFD_CORRUPT_DATA,
                           "%s %" PRId64 "; expected %" PRId64 "%s", found, number, expected,
                           is_plain ? "" : " (in the decompressed shard)");
}

pfd_status pfd_mds_check_head(const pfd_host *host, const pfd_mds_bytes *from, pfd_scratch *scratch,
                              int64_t *begin, pfd_error *err)
{
    const uint8_t *data;
    uint32_t word[2];
    PFD_TRY(read_bytes(host, from, 0, 2 * PFD_MDS_WORD, scratch, &data, err));
    memcpy(word, data, sizeof word);
    int64_t least = PFD_MDS_WORD * (from->samples + 2);
    if (word[0] != from->samples)
        return fail_shard(host, from, 0, "the number of samples in the shard is", word[0],
                          from->samples, err);
    if (word[1] < least || word[1] > from->size) {
        char seems[100];
        const char *other = NULL;
        if (!from->inflated) other = pfd_file_looks_like(host, from->file, scratch, "mds");
        return host->fail_file(err, from->file, from->inflated ? -1 : PFD_MDS_WORD,
                               PFD_CORRUPT_DATA,
                               "the offset of the first sample is %u; expected one between the end "
                               "of the offsets at %" PRId64 " and the end of the shard at %" PRId64
                               "%s",
                               word[1], least, from->size,
                               pfd_looks_like_hint(other, "", seems, sizeof seems));
    }
    *begin = word[1];
    PFD_TRY(read_bytes(host, from, least - PFD_MDS_WORD, PFD_MDS_WORD, scratch, &data, err));
    memcpy(word, data, PFD_MDS_WORD);
    if (word[0] != from->size)
        return fail_shard(host, from, least - PFD_MDS_WORD, "the offset of the samples' end is",
                          word[0], from->size, err);
    return PFD_OK;
}

/* Whether a sample can lie between two neighbouring offsets. */
static int32_t are_right(const pfd_mds_bytes *from, const uint32_t offsets[2])
{
    return offsets[0] >= PFD_MDS_WORD * (from->samples + 2) && offsets[1] >= offsets[0] &&
           offsets[1] <= from->size;
}

pfd_status pfd_mds_check_offsets(const pfd_host *host, const pfd_mds_bytes *from, pfd_error *err)
{
    uint32_t offsets[2];
    for (int64_t k = 0; k < from->samples; k++) {
        memcpy(offsets, from->inflated + PFD_MDS_WORD * (1 + k), sizeof offsets);
        if (!are_right(from, offsets))
            return host->fail_file(err, from->file, -1, PFD_CORRUPT_DATA,
                                   "the offsets of sample %" PRId64 " of the shard are %u and %u; "
                                   "the decompressed shard has %" PRId64 " bytes",
                                   k, offsets[0], offsets[1], from->size);
    }
    return PFD_OK;
}

pfd_status pfd_mds_find_sample(const pfd_host *host, const pfd_mds_bytes *from, int64_t k,
                               pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    uint32_t offsets[2];
    int64_t entry = PFD_MDS_WORD * (1 + k);
    PFD_TRY(read_bytes(host, from, entry, 2 * PFD_MDS_WORD, scratch, &out->data, err));
    memcpy(offsets, out->data, sizeof offsets);
    out->offset = entry;
    out->size = (int64_t)sizeof offsets;
    if (!are_right(from, offsets)) return PFD_OK;
    out->offset = from->inflated ? 0 : offsets[0];
    out->size = offsets[1] - offsets[0];
    PFD_TRY(read_bytes(host, from, offsets[0], out->size, scratch, &out->data, err));
    if (!from->inflated) return PFD_OK;
    uint8_t *copy = host->alloc(scratch, out->size);
    if (!copy) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a sample");
    if (out->size) memcpy(copy, out->data, (size_t)out->size);
    out->data = copy;
    return PFD_OK;
}

pfd_status pfd_mds_fail_offsets(const pfd_host *host, const pfd_mds_bytes *from,
                                const pfd_record *record, int64_t row, pfd_error *err)
{
    uint32_t offsets[2] = {0, 0};
    if (record->size == (int64_t)sizeof offsets) memcpy(offsets, record->data, sizeof offsets);
    return host->fail_row(err, row, 0, PFD_CORRUPT_DATA,
                          "the offsets of sample %" PRId64 " of the shard are %u and %u; the shard "
                          "has %" PRId64 " bytes",
                          record->offset / PFD_MDS_WORD - 1, offsets[0], offsets[1], from->size);
}
