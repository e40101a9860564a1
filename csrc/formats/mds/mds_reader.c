/* MDSReader: samples of MDS shards, the format of Mosaic's streaming datasets.
 *
 * A shard is the number of samples, an offset for each sample and one for the end (all uint32), a
 * JSON text that describes the columns, and the samples.  index.json in the same folder lists the
 * shards and repeats their descriptions. A shard may be compressed as a whole: then the source is a
 * stream that decompresses one shard after the other. */
#include "core/bytes.h"
#include "core/error.h"
#include "core/op_shorthand.h"
#include "files/codecs.h"
#include "files/file_hint.h"
#include "files/file_read.h"
#include "formats/mds/mds_files.h"
#include "index/record_index.h"
#include "parse/row_type.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/fields.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shards ---------------------------------------------------------------------------------- */

#define MDS_WORD ((int64_t)sizeof(uint32_t))

/* The bytes of a shard: in its file, or decompressed in memory. */
typedef struct mds_bytes {
    const pfd_file *file;
    const uint8_t *inflated; /* all decompressed bytes; NULL: read from the file */
    int64_t size;            /* bytes */
    int64_t samples;
} mds_bytes;

static pfd_status read_range(const pfd_host *host, const mds_bytes *from, int64_t offset,
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
static pfd_status fail_shard(const pfd_host *host, const mds_bytes *from, int64_t at,
                             const char *found, int64_t number, int64_t expected, pfd_error *err)
{
    int32_t is_plain = !from->inflated;
    return host->fail_file(err, from->file, is_plain ? at : -1, PFD_CORRUPT_DATA,
                           "%s %" PRId64 "; expected %" PRId64 "%s", found, number, expected,
                           is_plain ? "" : " (in the decompressed shard)");
}

/* Checks the count and the first and last offset.  *begin is the offset of the samples. */
static pfd_status mds_check_head(const pfd_host *host, const mds_bytes *from, pfd_scratch *scratch,
                                 int64_t *begin, pfd_error *err)
{
    const uint8_t *data;
    uint32_t word[2];
    PFD_TRY(read_range(host, from, 0, 2 * MDS_WORD, scratch, &data, err));
    memcpy(word, data, sizeof word);
    int64_t least = MDS_WORD * (from->samples + 2);
    if (word[0] != from->samples)
        return fail_shard(host, from, 0, "the number of samples in the shard is", word[0],
                          from->samples, err);
    if (word[1] < least || word[1] > from->size) {
        char seems[100];
        const char *other = NULL;
        if (!from->inflated) other = pfd_file_looks_like(host, from->file, scratch, "mds");
        return host->fail_file(
            err, from->file, from->inflated ? -1 : MDS_WORD, PFD_CORRUPT_DATA,
            "the offset of the first sample is %u; expected one between the end "
            "of the offsets at %" PRId64 " and the end of the shard at %" PRId64 "%s",
            word[1], least, from->size, pfd_looks_like_hint(other, "", seems, sizeof seems));
    }
    *begin = word[1];
    PFD_TRY(read_range(host, from, least - MDS_WORD, MDS_WORD, scratch, &data, err));
    memcpy(word, data, MDS_WORD);
    if (word[0] != from->size)
        return fail_shard(host, from, least - MDS_WORD, "the offset of the samples' end is",
                          word[0], from->size, err);
    return PFD_OK;
}

/* Whether a sample can lie between two neighbouring offsets. */
static int32_t are_right(const mds_bytes *from, const uint32_t offsets[2])
{
    return offsets[0] >= MDS_WORD * (from->samples + 2) && offsets[1] >= offsets[0] &&
           offsets[1] <= from->size;
}

/* Checks all offsets of a decompressed shard. */
static pfd_status mds_check_offsets(const pfd_host *host, const mds_bytes *from, pfd_error *err)
{
    uint32_t offsets[2];
    for (int64_t k = 0; k < from->samples; k++) {
        memcpy(offsets, from->inflated + MDS_WORD * (1 + k), sizeof offsets);
        if (!are_right(from, offsets))
            return host->fail_file(err, from->file, -1, PFD_CORRUPT_DATA,
                                   "the offsets of sample %" PRId64 " of the shard are %u and %u; "
                                   "the decompressed shard has %" PRId64 " bytes",
                                   k, offsets[0], offsets[1], from->size);
    }
    return PFD_OK;
}

/* Finds the data, size and offset of sample k.  In a decompressed shard the sample is copied into
 * the scratch and its offset is 0.  If the two offsets of the sample are wrong, the result is these
 * offsets themselves. */
static pfd_status mds_find_sample(const pfd_host *host, const mds_bytes *from, int64_t k,
                                  pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    uint32_t offsets[2];
    int64_t entry = MDS_WORD * (1 + k);
    PFD_TRY(read_range(host, from, entry, 2 * MDS_WORD, scratch, &out->data, err));
    memcpy(offsets, out->data, sizeof offsets);
    out->offset = entry;
    out->size = (int64_t)sizeof offsets;
    if (!are_right(from, offsets)) return PFD_OK;
    out->offset = from->inflated ? 0 : offsets[0];
    out->size = offsets[1] - offsets[0];
    PFD_TRY(read_range(host, from, offsets[0], out->size, scratch, &out->data, err));
    if (!from->inflated) return PFD_OK;
    uint8_t *copy = host->alloc(scratch, out->size);
    if (!copy) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a sample");
    if (out->size) memcpy(copy, out->data, (size_t)out->size);
    out->data = copy;
    return PFD_OK;
}

/* Fails with PFD_CORRUPT_DATA for a sample with wrong offsets. */
static pfd_status mds_fail_offsets(const pfd_host *host, const mds_bytes *from,
                                   const pfd_record *record, int64_t row, pfd_error *err)
{
    uint32_t offsets[2] = {0, 0};
    if (record->size == (int64_t)sizeof offsets) memcpy(offsets, record->data, sizeof offsets);
    return host->fail_row(err, row, 0, PFD_CORRUPT_DATA,
                          "the offsets of sample %" PRId64 " of the shard are %u and %u; the shard "
                          "has %" PRId64 " bytes",
                          record->offset / MDS_WORD - 1, offsets[0], offsets[1], from->size);
}

/* ---- The JSON of a data set, in its files ---------------------------------------------------- */

/* Fails with PFD_CORRUPT_DATA for the problem of a cursor.  Its JSON begins at byte `begin` of the
 * file. */
static pfd_status mds_fail_json(const pfd_host *host, const pfd_file *file, int64_t begin,
                                const pfd_json *json, pfd_error *err)
{
    return host->fail_file(err, file, begin + json->at, PFD_CORRUPT_DATA,
                           "the JSON that describes the shards: %s", json->problem);
}

/* Reads the JSON of a shard that is not compressed; it begins at *begin.  *out is the shard. */
static pfd_status mds_read_config(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                                  mds_bytes *out, pfd_mds_arrays *arrays, int64_t *begin,
                                  pfd_error *err)
{
    const uint8_t *data;
    int64_t end = 0;
    PFD_TRY(host->read(file, 0, MDS_WORD, scratch, &data, err));
    uint32_t samples = pfd_load_le32(data);
    if (pfd_compression_of_bytes(data, MDS_WORD) != PFD_COMPRESSION_NONE || file->size == INT64_MAX)
        return host->fail_file(err, file, 0, PFD_UNSUPPORTED,
                               "this shard is compressed, so its number of samples is not known; "
                               "give the index.json that lists it");
    *out = (mds_bytes){.file = file, .size = file->size, .samples = samples};
    PFD_TRY(mds_check_head(host, out, scratch, &end, err));
    *begin = MDS_WORD * (2 + (int64_t)samples);
    PFD_TRY(host->read(file, *begin, end - *begin, scratch, &data, err));
    pfd_json json;
    if (pfd_mds_config(data, end - *begin, arrays, &json)) return PFD_OK;
    return mds_fail_json(host, file, *begin, &json, err);
}

/* Reads all of an index.json. */
static pfd_status mds_read_index(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                                 const uint8_t **text, pfd_error *err)
{
    if (file->size > PFD_MDS_MOST_INDEX_BYTES)
        return host->fail_file(err, file, -1, PFD_UNSUPPORTED,
                               "an index.json that is compressed, or of more than 1 GiB");
    return host->read(file, 0, file->size, scratch, text, err);
}

/* ---- Columns of a data set, where the user left them out ------------------------------------- */

/* Makes a field of a column.  A column whose encoding has no dtype is read as bytes.  So is the
 * text of a Decimal, because a float64 may not hold all of its digits. */
static pfd_status infer_column(const pfd_host *host, const pfd_file *file,
                               const pfd_mds_column *column, pfd_inferred_field *out,
                               pfd_error *err)
{
    pfd_row_type type = {.dtype = column->dtype};
    out->key = column->name;
    out->key_size = column->name_size;
    int32_t is_array = column->kind == PFD_MDS_ARRAY;
    if (is_array && (!column->dtype || column->ndim < 0 || column->ndim > PFD_MAX_DIMS))
        return host->fail_file(
            err, file, -1, PFD_UNSUPPORTED,
            "the column '%.100s' is %.60s, but the shards do not state its dtype and shape, or it "
            "has more than %d dimensions; list the columns that are to be read with their types, "
            "as in columns=['%.100s:float32[?,?]', 'label:int64']",
            column->name, column->encoding, PFD_MAX_DIMS, column->name);
    if (is_array) {
        type.ndim = column->ndim;
        memcpy(type.shape, column->shape, sizeof type.shape);
    }
    if (column->kind == PFD_MDS_INT_TEXT) type.dtype = PFD_INT64;
    if (column->kind == PFD_MDS_FLOAT_TEXT && strcmp(column->encoding, "str_decimal") != 0)
        type.dtype = PFD_FLOAT64;
    if (type.dtype)
        (void)pfd_format_field_type(&type, out->type, sizeof out->type);
    else
        memcpy(out->type, "bytes", sizeof "bytes");
    return PFD_OK;
}

static pfd_status infer_columns(const pfd_propose_args *args, const pfd_file *file, int64_t begin,
                                const pfd_mds_arrays *arrays, pfd_error *err)
{
    pfd_mds_columns columns;
    pfd_json json;
    pfd_status status = pfd_mds_columns_parse(args->host, arrays, &columns, &json, err);
    if (status == PFD_CORRUPT_DATA) status = mds_fail_json(args->host, file, begin, &json, err);
    int64_t n = columns.size;
    pfd_inferred_field *fields = NULL;
    if (status == PFD_OK) {
        fields = args->host->alloc(args->scratch, n * (int64_t)sizeof *fields);
        if (!fields) status = args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for columns");
    }
    for (int64_t i = 0; status == PFD_OK && i < n; i++)
        status = infer_column(args->host, file, &columns.list[i], &fields[i], err);
    if (status == PFD_OK) status = pfd_inferred_fields_set(args, "columns", file, fields, n, err);
    pfd_mds_columns_free(&columns);
    return status;
}

/* PFD_END: the index lists no shards. */
static pfd_status infer_from_index(const pfd_propose_args *args, const pfd_file *file,
                                   pfd_error *err)
{
    const uint8_t *text;
    pfd_mds_index index;
    pfd_mds_shard first;
    PFD_TRY(mds_read_index(args->host, file, args->scratch, &text, err));
    pfd_mds_index_begin(text, file->size, &index);
    if (pfd_mds_index_next(&index, &first))
        return infer_columns(args, file, 0, &first.columns, err);
    return index.json.problem ? mds_fail_json(args->host, file, 0, &index.json, err) : PFD_END;
}

static pfd_status infer_from_shard(const pfd_propose_args *args, const pfd_file *file,
                                   pfd_error *err)
{
    int64_t begin;
    mds_bytes bytes;
    pfd_mds_arrays arrays;
    PFD_TRY(mds_read_config(args->host, file, args->scratch, &bytes, &arrays, &begin, err));
    return infer_columns(args, file, begin, &arrays, err);
}

/* Infers the columns of the first shard: from its entry in the index, or without one from the
 * shard. */
static pfd_status mds_infer(const pfd_propose_args *args, pfd_error *err)
{
    const pfd_file *file = NULL;
    for (int64_t i = 0; i < args->num_paths; i++) {
        if (!pfd_mds_is_index(args->paths[i])) continue;
        PFD_TRY(args->open(args->found, i, &file, err));
        pfd_status status = infer_from_index(args, file, err);
        if (status != PFD_END) return status;
    }
    if (file) {
        (void)args->host->fail_file(err, file, -1, PFD_CORRUPT_DATA,
                                    "the index lists no shards, so there are no records and no "
                                    "columns");
        return pfd_error_set_reason(err, PFD_REASON_NO_RECORDS);
    }
    PFD_TRY(args->open(args->found, 0, &file, err));
    return infer_from_shard(args, file, err);
}

/* ---- Columns in samples ---------------------------------------------------------------------- */

/* A sample is a size (uint32) for each column whose size varies, then the bytes of all columns. */

/* A chosen column, and the output that it goes to. */
typedef struct mds_choice {
    int64_t column, output;
} mds_choice;

typedef struct chooser {
    const pfd_host *host;
    const char *attr;
    const pfd_field_spec *spec;
    const pfd_row_type *type; /* of the output */
    const pfd_mds_column *column;
} chooser;

static const char *list_columns(const pfd_mds_columns *columns, char *out, size_t capacity)
{
    size_t used = 0;
    for (int64_t i = 0; i < columns->size; i++)
        used = pfd_add_name(out, capacity, used, columns->list[i].name);
    return used ? out : "none";
}

static const pfd_mds_column *find_column(const pfd_mds_columns *columns, const pfd_field_spec *spec)
{
    for (int64_t i = 0; i < columns->size; i++)
        if (columns->list[i].name_size == spec->key_size &&
            memcmp(columns->list[i].name, spec->key, (size_t)spec->key_size) == 0)
            return &columns->list[i];
    return NULL;
}

/* The message ends with what to write instead of the field: "write 'label:int64'". */
static pfd_status fail_type(const chooser *c, const char *instead, pfd_error *err)
{
    char type[256];
    return c->host->fail_attr(err, c->attr, NULL, PFD_INVALID_ARGUMENT,
        ": the column '%.100s' is %.60s in the shards and cannot be read as %s; write '%.*s:%s'",
        c->column->name, c->column->encoding,
        c->spec->has_type ? pfd_format_row_type(c->type, type, sizeof type) : "without a type",
        (int)c->spec->key_size, c->spec->key, instead);
}

static int32_t is_scalar(const pfd_row_type *type, int32_t dtype)
{
    return type->ndim == 0 && type->dtype == dtype;
}

/* Whether bytes can have this type: a fixed shape, or one dimension that varies. */
static int32_t takes_bytes(const pfd_row_type *type)
{
    if (type->dtype != PFD_UINT8 || type->ndim == 0) return 0;
    if (type->ndim == 1) return 1;
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] < 0) return 0;
    return 1;
}

/* A suggested type for an array column, such as "float32[?]". */
static const char *array_type(const pfd_mds_column *column, char *out, size_t capacity)
{
    pfd_row_type type = {.dtype = column->dtype ? column->dtype : PFD_FLOAT32,
                         .ndim = column->ndim < 0 ? 1 : column->ndim};
    memcpy(type.shape, column->shape, sizeof type.shape);
    if (column->ndim < 0) type.shape[0] = -1;
    return pfd_format_field_type(&type, out, capacity);
}

static pfd_status check_array(const chooser *c, pfd_error *err)
{
    char instead[256];
    const pfd_mds_column *column = c->column;
    int32_t fits = c->spec->has_type && c->type->ndim > 0;
    if (column->dtype && c->type->dtype != column->dtype) fits = 0;
    if (column->ndim > PFD_MAX_DIMS)
        return c->host->fail_attr(err, c->attr, NULL, PFD_UNSUPPORTED,
                                  ": the arrays of column '%.100s' have %d dimensions, rows can "
                                  "have at most %d", column->name, column->ndim, PFD_MAX_DIMS);
    if (column->ndim >= 0 && c->type->ndim != column->ndim) fits = 0;
    for (int32_t i = 0; fits && i < column->ndim; i++)
        if (c->type->shape[i] >= 0 && c->type->shape[i] != column->shape[i]) fits = 0;
    return fits ? PFD_OK : fail_type(c, array_type(column, instead, sizeof instead), err);
}

static pfd_status check_column(const chooser *c, pfd_error *err)
{
    switch (c->column->kind) {
    case PFD_MDS_SCALAR:
        if (c->spec->has_type && is_scalar(c->type, c->column->dtype)) return PFD_OK;
        return fail_type(c, pfd_dtype_name(c->column->dtype), err);
    case PFD_MDS_ARRAY:
        return check_array(c, err);
    case PFD_MDS_INT_TEXT:
        if (c->spec->has_type && (is_scalar(c->type, PFD_INT64) || takes_bytes(c->type)))
            return PFD_OK;
        return fail_type(c, "int64", err);
    case PFD_MDS_FLOAT_TEXT:
        if (c->spec->has_type && (is_scalar(c->type, PFD_FLOAT64) || takes_bytes(c->type)))
            return PFD_OK;
        return fail_type(c, "float64", err);
    case PFD_MDS_PICKLE:
        if (c->spec->has_type && takes_bytes(c->type)) return PFD_OK;
        return c->host->fail_attr(err, c->attr, NULL, PFD_UNSUPPORTED,
                                  ": the column '%.100s' has pickled Python objects, which are not "
                                  "loaded, because that can run any code; write '%.*s:bytes' to "
                                  "get the bytes of the pickle", c->column->name,
                                  (int)c->spec->key_size, c->spec->key);
    default:
        return takes_bytes(c->type) ? PFD_OK : fail_type(c, "bytes", err);
    }
}

static int by_column(const void *a, const void *b)
{
    const mds_choice *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return (x->output > y->output) - (x->output < y->output);
}

/* Finds the columns of the n fields, and compares their types with those of the outputs.  `out` has
 * room for n choices, and is in the order of the columns. */
static pfd_status mds_choose(const pfd_host *host, const char *attr, const pfd_field_spec *specs,
                             const pfd_row_type *types, int64_t n, const pfd_mds_columns *columns,
                             mds_choice *out, pfd_error *err)
{
    char names[512];
    for (int64_t i = 0; i < n; i++) {
        chooser c = {host, attr, &specs[i], &types[i], find_column(columns, &specs[i])};
        if (!c.column)
            return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                                   ": the shards have no column '%.*s'; they have %s",
                                   (int)specs[i].key_size, specs[i].key,
                                   list_columns(columns, names, sizeof names));
        PFD_TRY(check_column(&c, err));
        out[i] = (mds_choice){.column = c.column - columns->list, .output = i};
    }
    qsort(out, (size_t)n, sizeof *out, by_column);
    return PFD_OK;
}

/* ---- One column of a sample ------------------------------------------------------------------ */

/* The bytes of a column in a sample, and their place in it. */
typedef struct value {
    const pfd_host *host;
    const pfd_mds_column *column;
    const pfd_row_type *type;
    const uint8_t *data;
    int64_t size, offset;
} value;

__attribute__((format(printf, 4, 5))) static pfd_status
fail_value(const value *v, int64_t at, pfd_error *err, const char *format, ...)
{
    char found[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(found, sizeof found, format, args);
    va_end(args);
    return v->host->fail_row(err, 0, v->offset + at, PFD_CORRUPT_DATA,
                             "the column '%.100s' (%.60s) %s", v->column->name,
                             v->column->encoding, found);
}

/* The dtype that a code at the beginning of an array means; 0: the code is unknown. */
static int32_t dtype_of_code(uint8_t code)
{
    static const uint8_t codes[] = {8, 9, 16, 17, 18, 32, 33, 34, 64, 65, 66};
    static const int32_t dtypes[] = {PFD_UINT8, PFD_INT8,    PFD_UINT16, PFD_INT16,
                                     PFD_FLOAT16, PFD_UINT32, PFD_INT32,  PFD_FLOAT32,
                                     PFD_UINT64, PFD_INT64,  PFD_FLOAT64};
    for (size_t i = 0; i < sizeof codes; i++)
        if (codes[i] == code) return dtypes[i];
    return 0;
}

static pfd_status read_dtype(const value *v, int64_t *at, pfd_error *err)
{
    if (v->column->dtype) return PFD_OK; /* compared when the column was chosen */
    if (v->size < 1) return fail_value(v, 0, err, "has no bytes; its dtype was expected");
    int32_t dtype = dtype_of_code(v->data[0]);
    *at = 1;
    if (dtype == v->type->dtype) return PFD_OK;
    if (dtype == 0)
        return fail_value(v, 0, err, "begins with %d, which is not a dtype", v->data[0]);
    return fail_value(v, 0, err, "is %s here, but the output is %s", pfd_dtype_name(dtype),
                      pfd_dtype_name(v->type->dtype));
}

/* Reads the shape from the column or from the bytes, and checks its number of dimensions. */
static pfd_status read_shape(const value *v, int64_t *at, int64_t shape[PFD_MAX_DIMS],
                             pfd_error *err)
{
    if (v->column->ndim >= 0) {
        memcpy(shape, v->column->shape, sizeof v->column->shape);
        return PFD_OK;
    }
    if (v->size - *at < 1) return fail_value(v, *at, err, "ends before its shape");
    int32_t ndim = v->data[*at] >> 2, width = 1 << (v->data[*at] & 3);
    if (ndim != v->type->ndim)
        return fail_value(v, *at, err, "has %d dimensions here, but the output %d", ndim,
                          v->type->ndim);
    ++*at;
    if (v->size - *at < (int64_t)ndim * width) return fail_value(v, *at, err, "ends in its shape");
    for (int32_t i = 0; i < ndim; i++) {
        uint64_t dim = 0;
        memcpy(&dim, v->data + *at, (size_t)width);
        if (dim > INT64_MAX) return fail_value(v, *at, err, "has a dimension above 2^63");
        shape[i] = (int64_t)dim;
        *at += width;
    }
    return PFD_OK;
}

static pfd_status read_array(const value *v, pfd_field_cell *cell, pfd_error *err)
{
    int64_t at = 0, elements = 1, bytes;
    PFD_TRY(read_dtype(v, &at, err));
    PFD_TRY(read_shape(v, &at, cell->shape, err));
    for (int32_t i = 0; i < v->type->ndim; i++) {
        if (v->type->shape[i] >= 0 && cell->shape[i] != v->type->shape[i])
            return fail_value(v, at, err,
                              "has %" PRId64 " along dimension %d, but the output %" PRId64,
                              cell->shape[i], i, v->type->shape[i]);
        if (__builtin_mul_overflow(elements, cell->shape[i], &elements))
            return fail_value(v, at, err, "has a shape of more than 2^63 elements");
    }
    if (__builtin_mul_overflow(elements, pfd_dtype_size(v->type->dtype), &bytes) ||
        bytes != v->size - at)
        return fail_value(v, at, err,
                          "has %" PRId64 " bytes of values, but its shape has %" PRId64 " elements",
                          v->size - at, elements);
    cell->data = v->data + at;
    cell->size = bytes;
    return PFD_OK;
}

static pfd_status read_int_text(const value *v, pfd_field_cell *cell, pfd_error *err)
{
    int64_t negative = v->size > 0 && v->data[0] == '-', sum = 0;
    int32_t fits = v->size > negative;
    for (int64_t i = negative; fits && i < v->size; i++) {
        int64_t digit = v->data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, negative ? -digit : digit, &sum))
            fits = 0;
    }
    char text[256];
    if (!fits)
        return fail_value(v, 0, err, "is %s, which is not an integer of 64 bits",
                          pfd_quote_bytes(v->data, v->size, text, sizeof text));
    cell->shape[0] = sum;
    cell->data = cell->shape;
    cell->size = (int64_t)sizeof cell->shape[0];
    return PFD_OK;
}

static pfd_status read_float_text(const value *v, pfd_field_cell *cell, pfd_error *err)
{
    double number;
    char text[256];
    if (v->size == 0 || v->host->parse_double((const char *)v->data, v->size, &number) != v->size)
        return fail_value(v, 0, err, "is %s, which is not a number",
                          pfd_quote_bytes(v->data, v->size, text, sizeof text));
    memcpy(cell->shape, &number, sizeof number);
    cell->data = cell->shape;
    cell->size = (int64_t)sizeof number;
    return PFD_OK;
}

static pfd_status read_bytes(const value *v, pfd_field_cell *cell, pfd_error *err)
{
    int64_t expected = 1;
    for (int32_t i = 0; i < v->type->ndim; i++) {
        if (v->type->shape[i] < 0) expected = v->size;
        else if (__builtin_mul_overflow(expected, v->type->shape[i], &expected)) expected = -1;
    }
    if (expected != v->size)
        return fail_value(v, 0, err, "has %" PRId64 " bytes here, but the output %" PRId64, v->size,
                          expected);
    cell->data = v->data;
    cell->size = v->size;
    return PFD_OK;
}

static pfd_status read_value(const value *v, pfd_field_cell *cell, pfd_error *err)
{
    int32_t kind = v->column->kind;
    if (kind == PFD_MDS_ARRAY) return read_array(v, cell, err);
    if (kind == PFD_MDS_INT_TEXT && v->type->ndim == 0) return read_int_text(v, cell, err);
    if (kind == PFD_MDS_FLOAT_TEXT && v->type->ndim == 0) return read_float_text(v, cell, err);
    if (kind != PFD_MDS_SCALAR) return read_bytes(v, cell, err);
    cell->data = v->data;
    cell->size = v->size; /* the size of the dtype: pfd_mds_columns_parse() checked it */
    return PFD_OK;
}

/* ---- All columns of a sample ----------------------------------------------------------------- */

static pfd_status fail_size(const pfd_host *host, int64_t needed, int64_t size, pfd_error *err)
{
    return host->fail_row(err, 0, needed < size ? needed : size, PFD_CORRUPT_DATA,
                          "the sample has %" PRId64 " bytes, but its columns need %" PRId64, size,
                          needed);
}

/* Finds the chosen columns of one sample.  cells[i] is for output i and points into the sample or
 * into itself.  PFD_CORRUPT_DATA: err->byte is an offset in the sample. */
static pfd_status mds_sample_cells(const pfd_host *host, const pfd_mds_columns *columns,
                                   const mds_choice *choices, int64_t n, const pfd_row_type *types,
                                   const uint8_t *sample, int64_t size, pfd_field_cell *cells,
                                   pfd_error *err)
{
    int64_t at = 0, head = 0, k = 0; /* `at` is in the sizes, `head` in the bytes of columns */
    for (int64_t i = 0; i < columns->size; i++) head += columns->list[i].size < 0 ? 4 : 0;
    if (head > size) return fail_size(host, head, size, err);
    for (int64_t i = 0; i < columns->size; i++) {
        int64_t bytes = columns->list[i].size;
        if (bytes < 0) {
            uint32_t word;
            memcpy(&word, sample + at, sizeof word);
            at += (int64_t)sizeof word;
            bytes = word;
        }
        if (bytes > size - head) return fail_size(host, head + bytes, size, err);
        for (; k < n && choices[k].column == i; k++) {
            int64_t output = choices[k].output;
            value v = {host, &columns->list[i], &types[output], sample + head, bytes, head};
            PFD_TRY(read_value(&v, &cells[output], err));
        }
        head += bytes;
    }
    return head == size ? PFD_OK : fail_size(host, head, size, err);
}

/* ---- Attrs ----------------------------------------------------------------------------------- */

typedef struct mds_attrs {
    pfd_list_string columns;
} mds_attrs;

/* Columns, and which of them go to the outputs. Shards with equal columns share one layout. */
typedef struct layout {
    pfd_mds_columns columns;
    mds_choice *choices;
} layout;

typedef struct shard {
    mds_bytes bytes;
    int64_t layout;
    int32_t compression; /* PFD_COMPRESSION_NONE: read in any order */
} shard;

typedef struct mds {
    const pfd_host *host;
    int64_t num_outputs, num_layouts;
    pfd_field_spec *specs;
    pfd_row_type *types;
    pfd_shard_table table;
    shard *shards; /* table.size */
    int64_t shards_capacity;
    layout *layouts;
    int32_t is_stream;
    /* For a stream: */
    int64_t position, loaded; /* next record; number of the shard in `inflated`, -1: none */
    pfd_inflated inflated;
    int64_t damaged;  /* the last shard that could not be decompressed, -1: none */
    pfd_error damage; /* its error: the shard's records fail without decompressing it again */
} mds;

static void close_mds(void *source)
{
    mds *self = source;
    for (int64_t i = 0; i < self->num_layouts; i++) {
        pfd_mds_columns_free(&self->layouts[i].columns);
        free(self->layouts[i].choices);
    }
    free(self->layouts);
    pfd_shard_table_free(&self->table);
    free(self->shards);
    free(self->specs);
    free(self->types);
    free(self->inflated.data);
    free(self);
}

static pfd_status fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the shards of an MDS dataset");
}

/* Makes record `ordinal`: the bytes of its sample.  If the offsets of the sample are wrong, the
 * record is these offsets: compute() recognises that by the place, which no sample can have. */
static pfd_status make_record(const mds *self, int64_t number, int64_t ordinal,
                              pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    const mds_bytes *from = &self->shards[number].bytes;
    *out = (pfd_record){.ordinal = ordinal, .file = from->file->index};
    return mds_find_sample(self->host, from, ordinal - self->table.first[number], scratch, out,
                           err);
}

/* ---- The source if no shard is compressed ---------------------------------------------------- */

PFD_SOURCE_NUMBER(num_records, mds, table.num_records)

/* In shuffled order an offset and its sample are not in the cache: both are prefetched. */
static void prefetch(const mds *self, const int64_t *ordinals, int64_t i, int64_t n)
{
    enum { OFFSETS_AHEAD = 16, SAMPLES_AHEAD = 8 };
    for (int64_t k = SAMPLES_AHEAD; k <= OFFSETS_AHEAD; k += OFFSETS_AHEAD - SAMPLES_AHEAD) {
        if (i + k >= n) return;
        int64_t number = pfd_shard_of(&self->table, ordinals[i + k]);
        const shard *from = &self->shards[number];
        const uint8_t *data = pfd_file_data(from->bytes.file);
        if (!data) return;
        const uint8_t *offset = data + MDS_WORD * (1 + ordinals[i + k] - self->table.first[number]);
        if (k == OFFSETS_AHEAD) {
            __builtin_prefetch(offset);
            continue;
        }
        uint32_t begin;
        memcpy(&begin, offset, sizeof begin);
        pfd_shard_prefetch(from->bytes.file, begin, from->bytes.size - begin);
    }
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const mds *self = source;
    int64_t number = -1;
    for (int64_t i = 0; i < n; i++) {
        if (number < 0 || ordinals[i] < self->table.first[number] ||
            ordinals[i] >= self->table.first[number + 1])
            number = pfd_shard_of(&self->table, ordinals[i]);
        prefetch(self, ordinals, i, n);
        PFD_TRY(make_record(self, number, ordinals[i], scratch, &out[i], err));
    }
    return PFD_OK;
}

/* Computes places as if all samples of a shard had the same size. */
static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const mds *self = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t number = pfd_shard_of(&self->table, ordinals[i]);
        const shard *from = &self->shards[number];
        int64_t sample = ordinals[i] - self->table.first[number];
        double share = (double)sample / (double)from->bytes.samples;
        out[i] = (pfd_place){.offset = (int64_t)(share * (double)from->bytes.size),
                             .file = from->bytes.file->index};
    }
}

static const pfd_source_methods random_access = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_mds,
    .size = num_records,
    .at = at,
    .places = places,
};

/* ---- The source if a shard is compressed ----------------------------------------------------- */

static pfd_status inflate_shard(mds *self, int64_t number, pfd_scratch *scratch, pfd_error *err)
{
    shard *from = &self->shards[number];
    int64_t begin;
    if (self->loaded >= 0) self->shards[self->loaded].bytes.inflated = NULL;
    self->loaded = -1;
    PFD_TRY(pfd_inflate_file(from->bytes.file, from->compression, from->bytes.size, scratch,
                             &self->inflated, err));
    if (self->inflated.size != from->bytes.size)
        return self->host->fail_file(err, from->bytes.file, -1, PFD_CORRUPT_DATA,
                                     "the shard has %" PRId64 " bytes after decompression; its "
                                     "index.json states %" PRId64,
                                     self->inflated.size, from->bytes.size);
    from->bytes.inflated = self->inflated.data;
    self->loaded = number;
    pfd_status status = mds_check_head(self->host, &from->bytes, scratch, &begin, err);
    if (status == PFD_OK) status = mds_check_offsets(self->host, &from->bytes, err);
    if (status != PFD_OK) self->loaded = -1, from->bytes.inflated = NULL;
    return status;
}

static pfd_status load_shard(mds *self, int64_t number, pfd_scratch *scratch, pfd_error *err)
{
    if (self->damaged == number) {
        pfd_error_copy(err, &self->damage);
        return err->status;
    }
    pfd_status status = inflate_shard(self, number, scratch, err);
    if (status != PFD_CORRUPT_DATA) return status;
    self->damaged = number;
    pfd_error_copy(&self->damage, err);
    return status;
}

static pfd_status next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out, int64_t *n,
                       pfd_error *err)
{
    mds *self = source;
    *n = 0;
    if (self->position >= self->table.num_records) return PFD_END;
    int64_t number = pfd_shard_of(&self->table, self->position);
    const shard *from = &self->shards[number];
    if (from->compression != PFD_COMPRESSION_NONE && self->loaded != number)
        PFD_TRY(load_shard(self, number, scratch, err));
    while (*n < max && self->position < self->table.first[number + 1]) {
        PFD_TRY(make_record(self, number, self->position, scratch, &out[*n], err));
        self->position++;
        ++*n;
    }
    return PFD_OK;
}

static pfd_status seek(void *source, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    (void)epoch, (void)scratch, (void)err;
    mds *self = source;
    self->position = position;
    return PFD_OK;
}

static const pfd_source_methods stream = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_mds,
    .next = next,
    .seek = seek,
};

/* ---- Opening shards -------------------------------------------------------------------------- */

/* Finds or adds the layout with these columns, and takes ownership of them. */
static pfd_status add_layout(mds *self, pfd_mds_columns *columns, int64_t *number, pfd_error *err)
{
    for (int64_t i = self->num_layouts - 1; i >= 0; i--) {
        if (!pfd_mds_columns_equal(&self->layouts[i].columns, columns)) continue;
        pfd_mds_columns_free(columns);
        *number = i;
        return PFD_OK;
    }
    layout *grown = realloc(self->layouts, (size_t)(self->num_layouts + 1) * sizeof *grown);
    if (grown) self->layouts = grown;
    mds_choice *choices = calloc((size_t)self->num_outputs, sizeof *choices);
    if (!grown || !choices) {
        pfd_mds_columns_free(columns);
        free(choices);
        return fail_memory(self->host, err);
    }
    *number = self->num_layouts++;
    self->layouts[*number] = (layout){.columns = *columns, .choices = choices};
    return mds_choose(self->host, "columns", self->specs, self->types, self->num_outputs, columns,
                      choices, err);
}

static pfd_status parse_layout(mds *self, const pfd_file *file, int64_t begin,
                               const pfd_mds_arrays *arrays, int64_t *number, pfd_error *err)
{
    pfd_mds_columns columns;
    pfd_json json;
    pfd_status status = pfd_mds_columns_parse(self->host, arrays, &columns, &json, err);
    if (status == PFD_OK) return add_layout(self, &columns, number, err);
    pfd_mds_columns_free(&columns);
    if (status != PFD_CORRUPT_DATA) return status;
    return mds_fail_json(self->host, file, begin, &json, err);
}

static pfd_status add_shard(mds *self, const shard *added, pfd_error *err)
{
    int64_t n = self->table.size;
    if (n == self->shards_capacity) {
        int64_t capacity = self->shards_capacity ? 2 * self->shards_capacity : 64;
        shard *grown = realloc(self->shards, (size_t)capacity * sizeof *grown);
        if (!grown) return fail_memory(self->host, err);
        self->shards = grown;
        self->shards_capacity = capacity;
    }
    self->shards[n] = *added;
    if (added->compression != PFD_COMPRESSION_NONE) self->is_stream = 1;
    return pfd_shard_table_add(&self->table, added->bytes.samples, err);
}

/* Opens a shard without an index.json: its own JSON has the columns. */
static pfd_status open_shard(mds *self, const pfd_file *file, pfd_scratch *scratch, pfd_error *err)
{
    int64_t begin;
    pfd_mds_arrays arrays;
    shard added = {.compression = PFD_COMPRESSION_NONE};
    PFD_TRY(mds_read_config(self->host, file, scratch, &added.bytes, &arrays, &begin, err));
    PFD_TRY(parse_layout(self, file, begin, &arrays, &added.layout, err));
    return add_shard(self, &added, err);
}

static pfd_status add_named_shard(mds *self, const pfd_open_args *args, const pfd_file *index,
                                  const pfd_mds_shard *named, int64_t *hint, pfd_error *err)
{
    int64_t begin;
    shard added = {.bytes = {.samples = named->samples, .size = named->raw_bytes}};
    PFD_TRY(pfd_mds_find_shard(args, index->path, named, hint, &added.bytes.file,
                               &added.compression, err));
    const pfd_file *file = added.bytes.file;
    int32_t is_plain = added.compression == PFD_COMPRESSION_NONE;
    int64_t bytes = is_plain ? named->raw_bytes : named->zip_bytes;
    if (file->size != bytes)
        return self->host->fail_file(err, file, -1, PFD_CORRUPT_DATA,
                                     "the shard has %" PRId64 " bytes, but its index.json states "
                                     "%" PRId64 "; is it truncated?", file->size, bytes);
    if (added.bytes.size > UINT32_MAX)
        return self->host->fail_file(err, file, -1, PFD_CORRUPT_DATA,
                                     "index.json states that the shard has %" PRId64
                                     " bytes; a shard must be smaller than 2^32",
                                     added.bytes.size);
    if (is_plain) PFD_TRY(mds_check_head(self->host, &added.bytes, args->scratch, &begin, err));
    PFD_TRY(parse_layout(self, index, 0, &named->columns, &added.layout, err));
    return add_shard(self, &added, err);
}

static pfd_status open_index(mds *self, const pfd_open_args *args, const pfd_file *file,
                             int64_t *hint, pfd_error *err)
{
    const uint8_t *text;
    pfd_mds_index index;
    pfd_mds_shard named;
    PFD_TRY(mds_read_index(self->host, file, args->scratch, &text, err));
    pfd_mds_index_begin(text, file->size, &index);
    while (pfd_mds_index_next(&index, &named)) {
        if (self->host->is_cancelled(args->scratch))
            return self->host->fail(err, PFD_CANCELLED, "the loader is closing");
        PFD_TRY(add_named_shard(self, args, file, &named, hint, err));
    }
    return index.json.problem ? mds_fail_json(self->host, file, 0, &index.json, err) : PFD_OK;
}

/* Opens indexes and their shards, or shards alone. With an index, all other files must be shards
 * that it lists. */
static pfd_status open_all(mds *self, const pfd_open_args *args, pfd_error *err)
{
    int64_t indexes = 0, hint = 0;
    for (int64_t i = 0; i < args->num_files; i++) {
        if (!pfd_mds_is_index(args->files[i]->path)) continue;
        PFD_TRY(open_index(self, args, args->files[i], &hint, err));
        indexes++;
    }
    if (indexes && indexes + self->table.size != args->num_files)
        return self->host->fail(err, PFD_INVALID_ARGUMENT,
                                "%" PRId64 " files were given besides index.json, but it lists "
                                "%" PRId64 " shards; give index.json alone",
                                args->num_files - indexes, self->table.size);
    for (int64_t i = 0; !indexes && i < args->num_files; i++)
        PFD_TRY(open_shard(self, args->files[i], args->scratch, err));
    return PFD_OK;
}

/* ---- The op ---------------------------------------------------------------------------------- */

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const mds_attrs *attrs = args->attrs;
    return pfd_field_record_types(args->host, "columns", &attrs->columns, NULL, args->outputs, err);
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const mds_attrs *attrs = args->attrs;
    mds *self = calloc(1, sizeof *self);
    if (!self) return fail_memory(args->host, err);
    *self = (mds){
        .host = args->host, .num_outputs = attrs->columns.size, .loaded = -1, .damaged = -1};
    pfd_error_init(&self->damage);
    self->specs = calloc((size_t)self->num_outputs, sizeof *self->specs);
    self->types = calloc((size_t)self->num_outputs, sizeof *self->types);
    pfd_status status = self->specs && self->types
                            ? pfd_field_record_types(args->host, "columns", &attrs->columns,
                                                     self->specs, self->types, err)
                            : fail_memory(args->host, err);
    if (status == PFD_OK) status = open_all(self, args, err);
    return pfd_source_opened(status, self->is_stream ? &stream : &random_access, self, out);
}

static pfd_status write_sample(const pfd_compute_args *args, int64_t row, pfd_field_cell *cells,
                               pfd_error *err)
{
    const mds *self = args->source;
    const pfd_record *record = &args->records[row];
    const shard *from = &self->shards[pfd_shard_of(&self->table, record->ordinal)];
    const layout *like = &self->layouts[from->layout];
    int32_t is_plain = from->compression == PFD_COMPRESSION_NONE;
    if (is_plain && record->offset < MDS_WORD * (from->bytes.samples + 2))
        return mds_fail_offsets(args->host, &from->bytes, record, row, err);
    pfd_status status =
        mds_sample_cells(args->host, &like->columns, like->choices, self->num_outputs, self->types,
                         record->data, record->size, cells, err);
    if (status == PFD_OK) return pfd_field_cells_write(args, row, cells, err);
    err->row = row;
    if (!is_plain) err->byte = -1;
    return status;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    int64_t bytes = args->num_outputs * (int64_t)sizeof(pfd_field_cell);
    pfd_field_cell *cells = args->host->alloc(args->scratch, bytes);
    if (!cells) return fail_memory(args->host, err);
    for (int64_t row = 0; row < args->num_rows; row++)
        PFD_TRY(write_sample(args, row, cells, err));
    return PFD_OK;
}

static const pfd_attr attrs[] = {
    PFD_FOUND_ATTR_ROW(mds_attrs, columns, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "Columns to read, each [NAME=]COLUMN[:TYPE]: 'label:int64', 'image' "
                       "(bytes), 'x:float32[?,3]'; if left out, all columns of the first shard."),
};

static const pfd_port outputs[] = {
    {"out", "A column: numbers with the dtype of the column, arrays with the shape of the field, "
            "everything else as ragged uint8."},
};

const pfd_op pfd_op_mds_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "MDSReader",
    .doc = "Reads the shards of Mosaic's streaming datasets (MDS). Give the dataset's folder, "
           "its index.json, or single shards. Numbers (int, int8 ... float64, str_int, str_float) "
           "and ndarrays need their type in the field; bytes, str, json, jpeg, png and all others "
           "are ragged uint8, unchanged. Pickles are not loaded. Plain shards are read in any "
           "order; if a shard is compressed (zstd, gz), the dataset is a stream that decompresses "
           "one shard after the other.",
    PFD_OP_ATTRS(mds_attrs, attrs),
    .outputs_attr = "columns",
    .same_without = pfd_always_same,
    .companions = pfd_mds_add_shards,
    .propose = mds_infer,
};
