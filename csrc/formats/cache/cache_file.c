/* The header of a file of cached records. */
#include "formats/cache/cache_file.h"

#include <inttypes.h>
#include <string.h>

static pfd_status check_fields(const pfd_host *host, const pfd_file *file,
                               const pfd_cache_header *header, const pfd_row_type *types,
                               int64_t num_types, pfd_scratch *scratch, pfd_error *err)
{
    const uint8_t *stored;
    int64_t bytes = num_types * (int64_t)sizeof *types;
    if (header->num_fields != num_types)
        return host->fail_file(err, file, 12, PFD_CORRUPT_DATA,
                               "the cache has %" PRIu32 " fields, and %" PRId64 " are asked for",
                               header->num_fields, num_types);
    pfd_status status = host->read(file, (int64_t)sizeof *header, bytes, scratch, &stored, err);
    if (status != PFD_OK) return status;
    if (memcmp(stored, types, (size_t)bytes) == 0) return PFD_OK;
    return host->fail_file(err, file, (int64_t)sizeof *header, PFD_CORRUPT_DATA,
                           "the fields of the cache have other types than those asked for");
}

/* Whether the records and the table lie in the file, one after the other. */
static int32_t is_whole(const pfd_cache_header *header, int64_t num_fields)
{
    int64_t n = header->num_records, records, table = 0;
    int64_t fields = (int64_t)sizeof *header + num_fields * (int64_t)sizeof(pfd_row_type);
    if (n < 0 || header->record_bytes < 0 || header->first_record < fields) return 0;
    if ((header->first_record | header->table | header->record_bytes) % 8 != 0) return 0;
    if (header->table < header->first_record || header->file_bytes < header->table) return 0;
    if (header->record_bytes == 0 &&
        (__builtin_add_overflow(n, 1, &table) || __builtin_mul_overflow(table, 8, &table)))
        return 0;
    if (header->file_bytes - header->table != table) return 0;
    return header->record_bytes == 0 ||
           (!__builtin_mul_overflow(n, header->record_bytes, &records) &&
            records == header->table - header->first_record);
}

pfd_status pfd_cache_header_read(const pfd_host *host, const pfd_file *file,
                                 const pfd_row_type *types, int64_t num_types,
                                 pfd_scratch *scratch, pfd_cache_header *out, pfd_error *err)
{
    const uint8_t *data;
    pfd_status status = host->read(file, 0, (int64_t)sizeof *out, scratch, &data, err);
    if (status != PFD_OK) return status;
    memcpy(out, data, sizeof *out);
    if (memcmp(out->magic, PFD_CACHE_MAGIC, sizeof out->magic) != 0)
        return host->fail_file(err, file, 0, PFD_CORRUPT_DATA,
                               "this is not a cache of records; Dataset.cache() makes one");
    if (out->version != PFD_CACHE_VERSION)
        return host->fail_file(err, file, 8, PFD_CORRUPT_DATA,
                               "the cache has version %" PRIu32 ", and %d is read; delete it",
                               out->version, PFD_CACHE_VERSION);
    status = check_fields(host, file, out, types, num_types, scratch, err);
    if (status != PFD_OK) return status;
    if (out->file_bytes == file->size && is_whole(out, num_types)) return PFD_OK;
    return host->fail_file(err, file, 0, PFD_CORRUPT_DATA,
                           "the file has %" PRId64 " bytes, and its header speaks of %" PRId64
                           ": it is damaged or truncated; delete it",
                           file->size, out->file_bytes);
}
