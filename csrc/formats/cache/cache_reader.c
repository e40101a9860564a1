/* CacheReader: the records of a data set that were computed once and kept in a file. */
#include "core/op_shorthand.h"
#include "files/file_read.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/fields.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- The header of a file of cached records -------------------------------------------------- */

/* A file has four parts, as pyflowdata/formats/cache.py writes them:
 *
 *     header     cache_header, then a pfd_row_type for each field
 *     records    from `first_record` on, one after the other, as sources/fields.h says
 *     table      int64: where each record begins, and where the last one ends; left out where all
 *                records have record_bytes
 *     sums       uint64: XXH64 of each block of the records and the table; the last one is short
 *
 * A block is compared with its sum when a record of it is first read.
 *
 * Numbers are in the byte order of the machine: a cache is only read where it was written. */

#define CACHE_MAGIC "PFDCACHE"
#define CACHE_VERSION 2

enum { BLOCK_BYTES = 64 * 1024 };

typedef struct cache_header {
    char magic[8];
    uint32_t version, num_fields;
    int64_t num_records;
    int64_t record_bytes; /* of each record; 0: there is a table */
    int64_t first_record; /* offsets in the file, multiples of 8 */
    int64_t table;        /* offset of the table, or the end of the records */
    int64_t sums;         /* offset of the sums, the end of the table */
    uint64_t sum_of_sums; /* their XXH64 */
} cache_header;

static pfd_status check_fields(const pfd_host *host, const pfd_file *file,
                               const cache_header *header, const pfd_row_type *types,
                               int64_t num_types, pfd_scratch *scratch, pfd_error *err)
{
    const uint8_t *stored;
    int64_t bytes = num_types * (int64_t)sizeof *types;
    if (header->num_fields != num_types)
        return host->fail_file(err, file, 12, PFD_CORRUPT_DATA,
                               "the cache has %" PRIu32 " fields, and %" PRId64 " are asked for",
                               header->num_fields, num_types);
    PFD_TRY(host->read(file, (int64_t)sizeof *header, bytes, scratch, &stored, err));
    if (memcmp(stored, types, (size_t)bytes) == 0) return PFD_OK;
    return host->fail_file(err, file, (int64_t)sizeof *header, PFD_CORRUPT_DATA,
                           "the fields of the cache have other types than those asked for");
}

static int64_t num_blocks(const cache_header *header)
{
    return (header->sums - header->first_record + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

/* Whether the records, the table and the sums are the file, one after the other. */
static int32_t is_complete(const cache_header *header, int64_t num_fields, int64_t file_bytes)
{
    int64_t n = header->num_records, records, table = 0;
    int64_t fields = (int64_t)sizeof *header + num_fields * (int64_t)sizeof(pfd_row_type);
    if (n < 0 || header->record_bytes < 0 || header->first_record < fields) return 0;
    if ((header->first_record | header->table | header->record_bytes) % 8 != 0) return 0;
    if (header->table < header->first_record || header->sums < header->table) return 0;
    if (header->sums > file_bytes || num_blocks(header) * 8 != file_bytes - header->sums) return 0;
    if (header->record_bytes == 0 &&
        (__builtin_add_overflow(n, 1, &table) || __builtin_mul_overflow(table, 8, &table)))
        return 0;
    if (header->sums - header->table != table) return 0;
    return header->record_bytes == 0 ||
           (!__builtin_mul_overflow(n, header->record_bytes, &records) &&
            records == header->table - header->first_record);
}

/* Reads the header of a file.  PFD_CORRUPT_DATA: its fields are not `types`, or a part that it
 * describes lies outside the file. */
static pfd_status cache_header_read(const pfd_host *host, const pfd_file *file,
                                    const pfd_row_type *types, int64_t num_types,
                                    pfd_scratch *scratch, cache_header *out, pfd_error *err)
{
    const uint8_t *data;
    PFD_TRY(host->read(file, 0, (int64_t)sizeof *out, scratch, &data, err));
    memcpy(out, data, sizeof *out);
    if (memcmp(out->magic, CACHE_MAGIC, sizeof out->magic) != 0)
        return host->fail_file(err, file, 0, PFD_CORRUPT_DATA,
                               "this is not a cache of records; Dataset.cache() makes one");
    if (out->version != CACHE_VERSION)
        return host->fail_file(err, file, 8, PFD_CORRUPT_DATA,
                               "the cache has version %" PRIu32 ", and %d is read; delete it",
                               out->version, CACHE_VERSION);
    PFD_TRY(check_fields(host, file, out, types, num_types, scratch, err));
    if (is_complete(out, num_types, file->size)) return PFD_OK;
    return host->fail_file(err, file, 0, PFD_CORRUPT_DATA,
                           "the file has %" PRId64 " bytes, and its header is of a file of another "
                           "size: it is damaged or truncated; delete it",
                           file->size);
}

/* ---- The op ---------------------------------------------------------------------------------- */

typedef struct cache_reader_attrs {
    int64_t cache;
    pfd_list_string fields;
} cache_reader_attrs;

typedef struct reader {
    const pfd_host *host;
    const pfd_file *file;
    cache_header header;
    _Atomic uint8_t *is_checked; /* for each block; owned */
    uint64_t *sums;              /* of each block; owned */
} reader;

static pfd_status read_types(const pfd_host *host, const cache_reader_attrs *attrs,
                             pfd_row_type *types, pfd_error *err)
{
    for (int64_t i = 0; i < attrs->fields.size; i++) {
        pfd_field_spec field;
        PFD_TRY(pfd_field_spec_parse(host, "fields", attrs->fields.data[i], &field, err));
        if (!field.has_type || field.default_text)
            return host->fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                                   ": '%.200s' must be NAME:TYPE, such as x:float32[3] or "
                                   "name:bytes", attrs->fields.data[i]);
        types[i] = field.type;
    }
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    return read_types(args->host, args->attrs, args->outputs, err);
}

/* ---- The source ------------------------------------------------------------------------------ */

PFD_SOURCE_NUMBER(size_of, reader, header.num_records)

static pfd_status check_block(const reader *r, int64_t block, pfd_scratch *scratch, pfd_error *err)
{
    int64_t begin = r->header.first_record + block * BLOCK_BYTES;
    int64_t left = r->header.sums - begin, size = left < BLOCK_BYTES ? left : BLOCK_BYTES;
    const uint8_t *data;
    PFD_TRY(r->host->read(r->file, begin, size, scratch, &data, err));
    if (pfd_xxh64(data, size) != r->sums[block])
        return r->host->fail_file(err, r->file, begin, PFD_CORRUPT_DATA,
                                  "the %" PRId64 " bytes from here on do not have their checksum: "
                                  "the cache was damaged after it was made; delete the file, and "
                                  "the next loader makes it again", size);
    atomic_store_explicit(&r->is_checked[block], 1, memory_order_relaxed);
    return PFD_OK;
}

/* Compares the blocks of [begin, end), which is in the records or the table, with their sums. */
static pfd_status check_bytes(const reader *r, int64_t begin, int64_t end, pfd_scratch *scratch,
                              pfd_error *err)
{
    int64_t first = (begin - r->header.first_record) / BLOCK_BYTES;
    int64_t last = (end - 1 - r->header.first_record) / BLOCK_BYTES;
    for (int64_t block = first; block <= last && begin < end; block++)
        if (!atomic_load_explicit(&r->is_checked[block], memory_order_relaxed))
            PFD_TRY(check_block(r, block, scratch, err));
    return PFD_OK;
}

/* Where a record begins and ends.  The table is read in place if the file is mapped. */
static pfd_status find(const reader *r, int64_t ordinal, pfd_scratch *scratch, int64_t *begin,
                       int64_t *end, pfd_error *err)
{
    const cache_header *header = &r->header;
    if (header->record_bytes > 0) {
        *begin = header->first_record + ordinal * header->record_bytes;
        *end = *begin + header->record_bytes;
        return PFD_OK;
    }
    const uint8_t *entry;
    int64_t place = header->table + 8 * ordinal;
    PFD_TRY(check_bytes(r, place, place + 16, scratch, err));
    PFD_TRY(r->host->read(r->file, place, 16, scratch, &entry, err));
    memcpy(begin, entry, 8);
    memcpy(end, entry + 8, 8);
    if (header->first_record <= *begin && *begin <= *end && *end <= header->table &&
        (*begin | *end) % 8 == 0)
        return PFD_OK;
    return r->host->fail_file(err, r->file, place, PFD_CORRUPT_DATA,
                              "the table of the cache is damaged here; delete the file");
}

static pfd_status read_record(const reader *r, int64_t ordinal, pfd_scratch *scratch,
                              pfd_record *out, pfd_error *err)
{
    int64_t begin, end;
    const uint8_t *data;
    PFD_TRY(find(r, ordinal, scratch, &begin, &end, err));
    PFD_TRY(check_bytes(r, begin, end, scratch, err));
    PFD_TRY(r->host->read(r->file, begin, end - begin, scratch, &data, err));
    __builtin_prefetch(data);
    *out = (pfd_record){.data = data, .size = end - begin, .offset = begin, .ordinal = ordinal,
                        .file = r->file->index};
    return PFD_OK;
}

/* A failure has no row: it is one of the file, which on_error does not skip. The records themselves
 * are whole, and another cache has them. */
static pfd_status at(void *self, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const reader *r = self;
    const uint8_t *mapped = pfd_file_data(r->file);
    for (int64_t i = 0; i < n && mapped && r->header.record_bytes == 0; i++)
        __builtin_prefetch(mapped + r->header.table + 8 * ordinals[i]);
    for (int64_t i = 0; i < n; i++)
        PFD_TRY(read_record(r, ordinals[i], scratch, &out[i], err));
    return PFD_OK;
}

/* Estimates the places in a file that is not mapped, instead of reading its table. */
static void places(void *self, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const reader *r = self;
    const cache_header *header = &r->header;
    const uint8_t *mapped = pfd_file_data(r->file);
    double mean = (double)(header->table - header->first_record) / (double)header->num_records;
    for (int64_t i = 0; i < n; i++) {
        int64_t offset = header->first_record + (int64_t)(mean * (double)ordinals[i]);
        if (header->record_bytes > 0)
            offset = header->first_record + ordinals[i] * header->record_bytes;
        else if (mapped)
            memcpy(&offset, mapped + header->table + 8 * ordinals[i], sizeof offset);
        out[i] = (pfd_place){.offset = offset, .file = r->file->index};
    }
}

static void close_source(void *self)
{
    reader *r = self;
    free(r->sums);
    free(r->is_checked);
    free(r);
}

/* Reads the sums, which have a sum themselves. */
static pfd_status read_sums(reader *r, pfd_scratch *scratch, pfd_error *err)
{
    const uint8_t *stored;
    int64_t bytes = 8 * num_blocks(&r->header);
    PFD_TRY(r->host->read(r->file, r->header.sums, bytes, scratch, &stored, err));
    if (pfd_xxh64(stored, bytes) != r->header.sum_of_sums)
        return r->host->fail_file(err, r->file, r->header.sums, PFD_CORRUPT_DATA,
                                  "the checksums of the cache are damaged; delete the file, and "
                                  "the next loader makes it again");
    r->sums = malloc((size_t)bytes + 8);
    r->is_checked = calloc((size_t)num_blocks(&r->header) + 1, sizeof *r->is_checked);
    if (!r->sums || !r->is_checked)
        return r->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the checksums of a cache");
    memcpy(r->sums, stored, (size_t)bytes);
    return PFD_OK;
}

static const pfd_source_methods methods = {PFD_SIZE(pfd_source_methods), .close = close_source,
                                           .size = size_of, .at = at, .places = places};

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const cache_reader_attrs *attrs = args->attrs;
    int64_t n = attrs->fields.size;
    cache_header header;
    if (args->num_files != 1)
        return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                "a cache is one file, and %" PRId64 " were given",
                                args->num_files);
    pfd_row_type *types = args->host->alloc(args->scratch, n * (int64_t)sizeof *types);
    if (!types) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for fields");
    PFD_TRY(read_types(args->host, attrs, types, err));
    PFD_TRY(cache_header_read(args->host, args->files[0], types, n, args->scratch, &header, err));
    reader *r = malloc(sizeof *r);
    if (!r) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a reader");
    *r = (reader){.host = args->host, .file = args->files[0], .header = header};
    return pfd_source_opened(read_sums(r, args->scratch, err), &methods, r, out);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_rows; i++) {
        const uint8_t *data = args->records[i].data;
        int64_t left = args->records[i].size;
        for (int64_t k = 0; k < args->num_outputs; k++)
            if (!pfd_packed_field_read(args->outputs[k], i, &data, &left))
                return args->host->fail_row(err, i, -1, PFD_CORRUPT_DATA,
                                            "the record does not have these fields: the cache is "
                                            "damaged; delete the file");
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(cache_reader_attrs, cache, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "The object that makes the file if it is absent; Dataset.cache() creates it."),
    PFD_STRINGS_ATTR(cache_reader_attrs, fields, NULL,
                     "The fields of a record in their order, each NAME:TYPE."),
};

static const pfd_port outputs[] = {
    {"out", "The values of a field, ragged where a dimension varies or the type is bytes."},
};

const pfd_op pfd_op_cache_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "CacheReader",
    .doc = "Reads the records of a data set that Dataset.cache() has written to a file. Records "
           "are read in place and in any order; fields can have all types.",
    PFD_OP_ATTRS(cache_reader_attrs, attr_table),
    .outputs_attr = "fields",
};
