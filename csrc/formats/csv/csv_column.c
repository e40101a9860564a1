/* The columns of a CSV file that make one output. */
#include "formats/csv/csv_column.h"

#include "core/convert.h"
#include "formats/csv/csv_value.h"
#include "parse/row_type.h"
#include "parse/words.h"

#include <inttypes.h>
#include <string.h>

#define GRAMMAR                                                                                    \
    "columns are names, numbers from 0, or ranges a..b of them, separated by |; a name in single " \
    "quotes is used literally"

static pfd_status fail_key(const pfd_host *host, const pfd_csv_column *column, const char *at,
                           int64_t size, const char *what, pfd_error *err)
{
    char text[256];
    return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
        ": in '%s' %s is %s; " GRAMMAR, column->spec,
        size > 0 ? pfd_quote_bytes((const void *)at, size, text, sizeof text) : "the end", what);
}

/* ---- Keys ------------------------------------------------------------------------------------ */
enum { most_number = 999999999 };

/* A number above the largest becomes the largest plus one. */
static int is_number(const char *text, int64_t size, int64_t *value)
{
    *value = 0;
    for (int64_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return 0;
        *value = *value * 10 + (text[i] - '0');
        if (*value > most_number) *value = most_number + 1;
    }
    return size > 0;
}

/* Reads a name up to '|', ".." or the end, or a name in quotes. */
static pfd_status next_place(const pfd_host *host, const pfd_csv_column *column, const char **at,
                             pfd_csv_place *out, pfd_error *err)
{
    const char *end = column->key + column->key_size, *from = *at, *next;
    *out = (pfd_csv_place){.number = -1};
    if (from < end && *from == '\'') {
        next = memchr(from + 1, '\'', (size_t)(end - from - 1));
        if (!next)
            return fail_key(host, column, from, end - from, "a name without a closing quote", err);
        out->name = from + 1;
        out->size = next - out->name;
        *at = next + 1;
        return PFD_OK;
    }
    for (next = from; next < end && *next != '|'; next++)
        if (*next == '.' && next + 1 < end && next[1] == '.') break;
    *at = next;
    if (next == from) return fail_key(host, column, from, end - from, "not a column", err);
    if (is_number(from, next - from, &out->number))
        return out->number <= most_number
                   ? PFD_OK
                   : fail_key(host, column, from, next - from,
                              "above 999999999, the largest number of a column", err);
    out->name = from;
    out->size = next - from;
    return PFD_OK;
}

pfd_status pfd_csv_next_key(const pfd_host *host, const pfd_csv_column *column, const char **at,
                            pfd_csv_key *out, pfd_error *err)
{
    const char *end = column->key + column->key_size, *begin = *at;
    if (begin > column->key) {
        if (begin == end) return PFD_END;
        if (*begin != '|') return fail_key(host, column, begin, end - begin, "unexpected", err);
        ++*at;
    }
    PFD_TRY(next_place(host, column, at, &out->first, err));
    out->last = out->first;
    out->is_range = end - *at >= 2 && (*at)[0] == '.' && (*at)[1] == '.';
    if (!out->is_range) return PFD_OK;
    *at += 2;
    PFD_TRY(next_place(host, column, at, &out->last, err));
    if (!out->first.name && !out->last.name && out->last.number < out->first.number)
        return fail_key(host, column, begin, *at - begin, "a range that ends before it begins",
                        err);
    return PFD_OK;
}

/* Counts the columns of the keys; *unknown is 1 if one of them is a range of names. */
static pfd_status count_values(const pfd_host *host, pfd_csv_column *column, int64_t *values,
                               int32_t *is_row, int32_t *unknown, pfd_error *err)
{
    pfd_csv_key key;
    int64_t keys = 0;
    pfd_status status;
    *values = *unknown = 0;
    *is_row = 0;
    const char *at = column->key;
    for (; (status = pfd_csv_next_key(host, column, &at, &key, err)) == PFD_OK; keys++) {
        int32_t named = key.first.name || key.last.name;
        column->has_names |= named;
        *is_row |= key.is_range;
        if (key.is_range && named)
            *unknown = 1;
        else
            *values += key.is_range ? key.last.number - key.first.number + 1 : 1;
    }
    *is_row |= keys > 1;
    return status == PFD_END ? PFD_OK : status;
}

/* ---- Type ------------------------------------------------------------------------------------ */
static pfd_status fail_type(const pfd_host *host, const pfd_csv_column *column, const char *what,
                            pfd_error *err)
{
    return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                           ": '%s' %s; a column is bool, an integer, float32, float64 or bytes, "
                           "several columns are an array of numbers", column->spec, what);
}

static pfd_status set_type(const pfd_host *host, const pfd_field_spec *spec, int64_t values,
                           int32_t is_row, int32_t unknown, pfd_csv_column *column, pfd_error *err)
{
    pfd_row_type *type = &column->type;
    *type = spec->type;
    if (!spec->has_type) type->dtype = PFD_FLOAT64;
    if (!pfd_csv_value_is_known(type->dtype))
        return fail_type(host, column, "has a type that text cannot be read as", err);
    column->is_bytes = type->dtype == PFD_UINT8 && type->ndim == 1 && type->shape[0] < 0;
    if (column->is_bytes) {
        column->num_values = 1;
        return is_row ? fail_type(host, column, "has the type bytes and more than one column", err)
                      : PFD_OK;
    }
    if (unknown && !spec->has_shape)
        return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                               ": '%s' is a range of names; the type must state its length, as in "
                               "'x=a..z:float32[26]'", column->spec);
    if (!spec->has_shape && is_row) {
        type->ndim = 1;
        type->shape[0] = values;
    }
    int64_t product = 1;
    for (int32_t i = 0; i < type->ndim; i++) {
        if (type->shape[i] < 0)
            return fail_type(host, column,
                             "has a dimension that varies, which the number of columns does not",
                             err);
        if (__builtin_mul_overflow(product, type->shape[i], &product)) product = INT64_MAX;
    }
    if (unknown ? product <= values : product != values)
        return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                               ": '%s' has a shape of %" PRId64 " values for %s%" PRId64 " columns",
                               column->spec, product, unknown ? "more than " : "", values);
    column->num_values = product;
    return PFD_OK;
}

pfd_status pfd_csv_column_parse(const pfd_host *host, const char *element, pfd_csv_column *out,
                                pfd_error *err)
{
    pfd_field_spec spec;
    PFD_TRY(pfd_field_spec_parse(host, "columns", element, &spec, err));
    *out = (pfd_csv_column){.spec = element,
                            .name = spec.name,
                            .key = spec.key,
                            .default_text = spec.default_text,
                            .name_size = spec.name_size,
                            .key_size = spec.key_size,
                            .default_size = spec.default_size};
    int64_t values;
    int32_t is_row, unknown;
    PFD_TRY(count_values(host, out, &values, &is_row, &unknown, err));
    return set_type(host, &spec, values, is_row, unknown, out, err);
}

static pfd_status parse_default(const pfd_host *host, const pfd_csv_column *column,
                                const char *text, int64_t size, void *out, pfd_error *err)
{
    if (pfd_csv_value(column->type.dtype, (const void *)text, size, out) == PFD_CSV_VALUE)
        return PFD_OK;
    char found[256];
    return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                           ": the default %s of '%s' is not %s that %s holds",
                           pfd_quote_bytes((const void *)text, size, found, sizeof found),
                           column->spec, pfd_csv_value_kind(column->type.dtype),
                           pfd_dtype_name(column->type.dtype));
}

pfd_status pfd_csv_defaults(const pfd_host *host, const pfd_csv_column *column, uint8_t *out,
                            pfd_error *err)
{
    const char *text = column->default_text, *end = text + column->default_size;
    int64_t texts = 1, bytes = pfd_csv_value_bytes(column->type.dtype);
    for (const char *c = text; c < end; c++) texts += *c == ',';
    if (texts != 1 && texts != column->num_values)
        return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                               ": '%s' has %" PRId64 " defaults for %" PRId64
                               " values; give one for all or one for each", column->spec, texts,
                               column->num_values);
    for (int64_t i = 0; i < texts; i++) {
        uint64_t value;
        const char *comma = memchr(text, ',', (size_t)(end - text));
        int64_t size = (comma ? comma : end) - text;
        PFD_TRY(parse_default(host, column, text, size, &value, err));
        int64_t copies = texts == 1 ? column->num_values : 1;
        for (int64_t k = 0; out && k < copies; k++, out += bytes)
            memcpy(out, &value, (size_t)bytes);
        if (comma) text = comma + 1;
    }
    return PFD_OK;
}
