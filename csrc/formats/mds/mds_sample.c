/* Chooses the columns that the user wants, and finds them in the bytes of a sample. */
#include "formats/mds/mds_sample.h"

#include "parse/row_type.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Choosing columns ------------------------------------------------------------------------ */
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

/* The message ends with how to write the field instead, "write 'label:int64'". */
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
    const pfd_mds_choice *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return (x->output > y->output) - (x->output < y->output);
}

pfd_status pfd_mds_choose(const pfd_host *host, const char *attr, const pfd_field_spec *specs,
                          const pfd_row_type *types, int64_t n, const pfd_mds_columns *columns,
                          pfd_mds_choice *out, pfd_error *err)
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
        out[i] = (pfd_mds_choice){.column = c.column - columns->list, .output = i};
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

static pfd_status read_array(const value *v, pfd_field_part *part, pfd_error *err)
{
    int64_t at = 0, elements = 1, bytes;
    PFD_TRY(read_dtype(v, &at, err));
    PFD_TRY(read_shape(v, &at, part->shape, err));
    for (int32_t i = 0; i < v->type->ndim; i++) {
        if (v->type->shape[i] >= 0 && part->shape[i] != v->type->shape[i])
            return fail_value(v, at, err,
                              "has %" PRId64 " along dimension %d, but the output %" PRId64,
                              part->shape[i], i, v->type->shape[i]);
        if (__builtin_mul_overflow(elements, part->shape[i], &elements))
            return fail_value(v, at, err, "has a shape of more than 2^63 elements");
    }
    if (__builtin_mul_overflow(elements, pfd_dtype_size(v->type->dtype), &bytes) ||
        bytes != v->size - at)
        return fail_value(v, at, err,
                          "has %" PRId64 " bytes of values, but its shape has %" PRId64 " elements",
                          v->size - at, elements);
    part->data = v->data + at;
    part->size = bytes;
    return PFD_OK;
}

static pfd_status read_int_text(const value *v, pfd_field_part *part, pfd_error *err)
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
    part->shape[0] = sum;
    part->data = part->shape;
    part->size = (int64_t)sizeof part->shape[0];
    return PFD_OK;
}

static pfd_status read_float_text(const value *v, pfd_field_part *part, pfd_error *err)
{
    double number;
    char text[256];
    if (v->size == 0 || v->host->parse_double((const char *)v->data, v->size, &number) != v->size)
        return fail_value(v, 0, err, "is %s, which is not a number",
                          pfd_quote_bytes(v->data, v->size, text, sizeof text));
    memcpy(part->shape, &number, sizeof number);
    part->data = part->shape;
    part->size = (int64_t)sizeof number;
    return PFD_OK;
}

static pfd_status read_bytes(const value *v, pfd_field_part *part, pfd_error *err)
{
    int64_t expected = 1;
    for (int32_t i = 0; i < v->type->ndim; i++) {
        if (v->type->shape[i] < 0) expected = v->size;
        else if (__builtin_mul_overflow(expected, v->type->shape[i], &expected)) expected = -1;
    }
    if (expected != v->size)
        return fail_value(v, 0, err, "has %" PRId64 " bytes here, but the output %" PRId64, v->size,
                          expected);
    part->data = v->data;
    part->size = v->size;
    return PFD_OK;
}

static pfd_status read_value(const value *v, pfd_field_part *part, pfd_error *err)
{
    int32_t kind = v->column->kind;
    if (kind == PFD_MDS_ARRAY) return read_array(v, part, err);
    if (kind == PFD_MDS_INT_TEXT && v->type->ndim == 0) return read_int_text(v, part, err);
    if (kind == PFD_MDS_FLOAT_TEXT && v->type->ndim == 0) return read_float_text(v, part, err);
    if (kind != PFD_MDS_SCALAR) return read_bytes(v, part, err);
    part->data = v->data;
    part->size = v->size; /* the size of the dtype: pfd_mds_columns_parse() checked it */
    return PFD_OK;
}

/* ---- All columns of a sample ----------------------------------------------------------------- */
static pfd_status fail_size(const pfd_host *host, int64_t needed, int64_t size, pfd_error *err)
{
    return host->fail_row(err, 0, needed < size ? needed : size, PFD_CORRUPT_DATA,
                          "the sample has %" PRId64 " bytes, but its columns need %" PRId64, size,
                          needed);
}

pfd_status pfd_mds_sample_parts(const pfd_host *host, const pfd_mds_columns *columns,
                                const pfd_mds_choice *choices, int64_t n, const pfd_row_type *types,
                                const uint8_t *sample, int64_t size, pfd_field_part *parts,
                                pfd_error *err)
{
    int64_t at = 0, head = 0, k = 0; /* `at`: in the sizes; `head`: of the next column's bytes */
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
            PFD_TRY(read_value(&v, &parts[output], err));
        }
        head += bytes;
    }
    return head == size ? PFD_OK : fail_size(host, head, size, err);
}
