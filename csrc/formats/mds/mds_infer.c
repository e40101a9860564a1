/* Infers the columns of an MDS dataset if the user left them out. */
#include "core/error.h"
#include "formats/mds/mds_files.h"
#include "formats/mds/mds_json.h"
#include "parse/row_type.h"
#include "sources/fields.h"

#include <string.h>

/* Makes a field of a column. Encodings that have no dtype here are read as bytes. So is the text of
 * a Decimal, because a float64 may not hold all of its digits. */
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
    if (status == PFD_CORRUPT_DATA) status = pfd_mds_fail_json(args->host, file, begin, &json, err);
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
    PFD_TRY(pfd_mds_read_index(args->host, file, args->scratch, &text, err));
    pfd_mds_index_begin(text, file->size, &index);
    if (pfd_mds_index_next(&index, &first))
        return infer_columns(args, file, 0, &first.columns, err);
    return index.json.problem ? pfd_mds_fail_json(args->host, file, 0, &index.json, err) : PFD_END;
}

static pfd_status infer_from_shard(const pfd_propose_args *args, const pfd_file *file,
                                   pfd_error *err)
{
    int64_t begin;
    pfd_mds_bytes bytes;
    pfd_mds_arrays arrays;
    PFD_TRY(pfd_mds_read_config(args->host, file, args->scratch, &bytes, &arrays, &begin, err));
    return infer_columns(args, file, begin, &arrays, err);
}

/* The first shard states the columns; if there is an index, the shard's entry in it does. */
pfd_status pfd_mds_infer(const pfd_propose_args *args, pfd_error *err)
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
