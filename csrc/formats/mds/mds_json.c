/* Reads the JSON of MDS datasets from index.json and from shards. */
#include "formats/mds/mds_json.h"

#include "core/bytes.h"
#include "files/codecs.h"
#include "formats/mds/mds_files.h"

pfd_status pfd_mds_fail_json(const pfd_host *host, const pfd_file *file, int64_t begin,
                             const pfd_json *json, pfd_error *err)
{
    return host->fail_file(err, file, begin + json->at, PFD_CORRUPT_DATA,
                           "the JSON that describes the shards: %s", json->problem);
}

pfd_status pfd_mds_read_config(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                               pfd_mds_bytes *out, pfd_mds_arrays *arrays, int64_t *begin,
                               pfd_error *err)
{
    const uint8_t *data;
    int64_t end = 0;
    PFD_TRY(host->read(file, 0, PFD_MDS_WORD, scratch, &data, err));
    uint32_t samples = pfd_load_le32(data);
    if (pfd_compression_of_bytes(data, PFD_MDS_WORD) != PFD_COMPRESSION_NONE ||
        file->size == INT64_MAX)
        return host->fail_file(err, file, 0, PFD_UNSUPPORTED,
                               "this shard is compressed, so its number of samples is not known; "
                               "give the index.json that lists it");
    *out = (pfd_mds_bytes){.file = file, .size = file->size, .samples = samples};
    PFD_TRY(pfd_mds_check_head(host, out, scratch, &end, err));
    *begin = PFD_MDS_WORD * (2 + (int64_t)samples);
    PFD_TRY(host->read(file, *begin, end - *begin, scratch, &data, err));
    pfd_json json;
    if (pfd_mds_config(data, end - *begin, arrays, &json)) return PFD_OK;
    return pfd_mds_fail_json(host, file, *begin, &json, err);
}

pfd_status pfd_mds_read_index(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                              const uint8_t **text, pfd_error *err)
{
    if (file->size > PFD_MDS_MOST_INDEX_BYTES)
        return host->fail_file(err, file, -1, PFD_UNSUPPORTED,
                               "an index.json that is compressed, or of more than 1 GiB");
    return host->read(file, 0, file->size, scratch, text, err);
}
