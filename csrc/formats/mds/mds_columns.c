/* Parses the columns of MDS shards: names, encodings and sizes in JSON. */
#include "formats/mds/mds_columns.h"

#include "core/convert.h"

#include <stdlib.h>
#include <string.h>

/* No dataset has more columns: the sizes alone would take 256 KB of each sample. */
enum { MOST_COLUMNS = 65536 };

/* ---- Encodings ------------------------------------------------------------------------------- */
typedef struct known {
    const char *name;
    int32_t kind, dtype;
} known;

/* Encodings with a fixed name. parse_dtype() parses those of numbers, parse_array() those of
 * arrays. mds_infer.c and check_column() in mds_sample.c know what output each can have. */
static const known encodings[] = {
    {"bytes", PFD_MDS_BYTES, 0},          {"str", PFD_MDS_BYTES, 0},
    {"json", PFD_MDS_BYTES, 0},           {"jpeg", PFD_MDS_BYTES, 0},
    {"png", PFD_MDS_BYTES, 0},            {"pil", PFD_MDS_BYTES, 0},
    {"jpeg_array", PFD_MDS_BYTES, 0},     {"jpegarray", PFD_MDS_BYTES, 0},
    {"list[jpeg]", PFD_MDS_BYTES, 0},     {"list[png]", PFD_MDS_BYTES, 0},
    {"list[pil]", PFD_MDS_BYTES, 0},      {"pkl", PFD_MDS_PICKLE, 0},
    {"int", PFD_MDS_SCALAR, PFD_INT64},   {"str_int", PFD_MDS_INT_TEXT, 0},
    {"str_float", PFD_MDS_FLOAT_TEXT, 0}, {"str_decimal", PFD_MDS_FLOAT_TEXT, 0},
};

/* Parses a dtype: one of NumPy's names, without bool.  Returns 0 if it is not one. */
static int32_t parse_dtype(const char *text, size_t size)
{
    char name[16];
    if (size >= sizeof name) return 0;
    memcpy(name, text, size);
    name[size] = 0;
    int32_t dtype = pfd_dtype_parse(name);
    return dtype == PFD_BOOL ? 0 : dtype;
}

/* Parses "3,224,224". */
static int32_t parse_shape(const char *text, pfd_mds_column *column, int64_t *elements)
{
    *elements = 1;
    for (column->ndim = 0; *text; column->ndim++) {
        int64_t dim = 0;
        size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits > 9) return 0;
        for (size_t i = 0; i < digits; i++) dim = dim * 10 + (text[i] - '0');
        if (dim < 1 || __builtin_mul_overflow(*elements, dim, elements)) return 0;
        if (column->ndim < PFD_MAX_DIMS) column->shape[column->ndim] = dim;
        text += digits;
        if (*text == ',' && text[1]) text++;
        else if (*text) return 0;
    }
    return column->ndim > 0;
}

/* Parses "ndarray", "ndarray:float32" or "ndarray:float32:2,3".  *size is the size of the arrays if
 * the encoding states it, else -1. */
static int32_t parse_array(const char *text, pfd_mds_column *column, int64_t *size)
{
    int64_t elements;
    column->kind = PFD_MDS_ARRAY;
    column->ndim = -1;
    *size = -1;
    if (*text++ == 0 || *text == 0) return 1;
    const char *colon = strchr(text, ':');
    column->dtype = parse_dtype(text, colon ? (size_t)(colon - text) : strlen(text));
    if (!column->dtype) return 0;
    if (!colon) return 1;
    return parse_shape(colon + 1, column, &elements) &&
           !__builtin_mul_overflow(elements, pfd_dtype_size(column->dtype), size);
}

/* Finds the kind of a column and its size, -1 if it varies.  Returns 0 if the encoding is
 * malformed. */
static int32_t parse_encoding(pfd_mds_column *column, int64_t *size)
{
    const char *text = column->encoding;
    *size = -1;
    if (strncmp(text, "ndarray", 7) == 0 && (text[7] == 0 || text[7] == ':'))
        return parse_array(text + 7, column, size);
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        if (strcmp(text, encodings[i].name) != 0) continue;
        column->kind = encodings[i].kind;
        column->dtype = encodings[i].dtype;
    }
    if (!column->kind) {
        column->dtype = parse_dtype(text, strlen(text));
        column->kind = column->dtype ? PFD_MDS_SCALAR : PFD_MDS_UNKNOWN;
    }
    if (column->kind == PFD_MDS_SCALAR) *size = pfd_dtype_size(column->dtype);
    return 1;
}

/* ---- The three arrays ------------------------------------------------------------------------ */
static int64_t count(pfd_json json, int64_t *text_bytes)
{
    pfd_json_text text;
    int64_t n = 0;
    pfd_json_enter(&json, '[');
    while (pfd_json_element(&json)) {
        if (text_bytes && pfd_json_string(&json, &text)) *text_bytes += text.size + 1;
        else if (!text_bytes) pfd_json_skip(&json);
        n++;
    }
    return json.problem ? -1 : n;
}

static const char *take_text(pfd_json *json, char **room, int64_t *size)
{
    pfd_json_text text;
    char *begin = *room;
    if (!pfd_json_string(json, &text)) return NULL;
    *size = pfd_json_decode(&text, begin);
    begin[*size] = 0;
    *room += *size + 1;
    return begin;
}

static int32_t parse_column(pfd_mds_arrays *at, char **room, pfd_mds_column *column,
                            pfd_json **failed)
{
    int64_t unused, follows;
    *failed = &at->names;
    column->name = take_text(&at->names, room, &column->name_size);
    if (!column->name) return 0;
    *failed = &at->encodings;
    column->encoding = take_text(&at->encodings, room, &unused);
    if (!column->encoding) return 0;
    if (!parse_encoding(column, &follows))
        return pfd_json_refuse(&at->encodings, "expected an encoding such as int, bytes, "
                                               "ndarray:float32 or ndarray:float32:2,3");
    *failed = &at->sizes;
    column->size = -1;
    if (!pfd_json_null(&at->sizes)) {
        if (!pfd_json_int64(&at->sizes, &column->size)) return 0;
        if (column->size < 0 || column->size > UINT32_MAX)
            return pfd_json_refuse(&at->sizes, "expected a size of a column from 0 to 2^32 - 1");
    }
    if (column->kind != PFD_MDS_UNKNOWN && column->size != follows)
        return pfd_json_refuse(&at->sizes, "expected the size that the column's encoding has");
    return 1;
}

static int32_t parse_columns(pfd_mds_arrays *at, pfd_mds_columns *out, pfd_json **failed)
{
    char *room = out->text;
    pfd_json_enter(&at->names, '[');
    pfd_json_enter(&at->encodings, '[');
    pfd_json_enter(&at->sizes, '[');
    for (int64_t i = 0; i < out->size; i++) {
        pfd_json_element(&at->names);
        pfd_json_element(&at->encodings);
        pfd_json_element(&at->sizes);
        if (!parse_column(at, &room, &out->list[i], failed)) return 0;
    }
    return 1;
}

pfd_status pfd_mds_columns_parse(const pfd_host *host, const pfd_mds_arrays *arrays,
                                 pfd_mds_columns *out, pfd_json *json, pfd_error *err)
{
    int64_t bytes = 0, n = count(arrays->names, &bytes);
    *out = (pfd_mds_columns){.size = 0};
    *json = arrays->names;
    if (n <= 0 || n > MOST_COLUMNS || count(arrays->encodings, &bytes) != n ||
        count(arrays->sizes, NULL) != n) {
        pfd_json_refuse(json, "expected column_names, column_encodings and column_sizes of one "
                              "length, from 1 to 65536");
        return host->fail(err, PFD_CORRUPT_DATA, "%s", json->problem);
    }
    out->list = calloc((size_t)n, sizeof *out->list);
    out->text = malloc((size_t)bytes);
    out->size = n;
    if (!out->list || !out->text)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the columns of a shard");
    pfd_mds_arrays at = *arrays;
    pfd_json *failed = &at.names;
    if (parse_columns(&at, out, &failed)) return PFD_OK;
    *json = *failed;
    return host->fail(err, PFD_CORRUPT_DATA, "%s", json->problem);
}

void pfd_mds_columns_free(pfd_mds_columns *columns)
{
    free(columns->list);
    free(columns->text);
    *columns = (pfd_mds_columns){.size = 0};
}

int32_t pfd_mds_columns_equal(const pfd_mds_columns *a, const pfd_mds_columns *b)
{
    if (a->size != b->size) return 0;
    for (int64_t i = 0; i < a->size; i++) {
        const pfd_mds_column *x = &a->list[i], *y = &b->list[i];
        if (x->size != y->size || x->name_size != y->name_size ||
            memcmp(x->name, y->name, (size_t)x->name_size) != 0 ||
            strcmp(x->encoding, y->encoding) != 0)
            return 0;
    }
    return 1;
}
