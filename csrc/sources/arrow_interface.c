/* Imports the structs of the Arrow C data interface, and releases those that Python filled in. */
#include "sources/arrow_interface.h"

#include "core/bytes.h"
#include "core/error.h"
#include "core/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Schemas --------------------------------------------------------------------------------- */

/* What a format means; its size, where there is one, follows a colon. */
typedef struct format {
    const char *text;
    int32_t type, dtype;
    int32_t buffers;
    int32_t is_prefix; /* more may follow: units, time zones */
} format;

static const format formats[] = {
    {"n", PFD_ARROW_NULL, 0, 0, 0},
    {"b", PFD_ARROW_BOOL, PFD_BOOL, 2, 0},
    {"c", PFD_ARROW_INT, PFD_INT8, 2, 0},
    {"C", PFD_ARROW_INT, PFD_UINT8, 2, 0},
    {"s", PFD_ARROW_INT, PFD_INT16, 2, 0},
    {"S", PFD_ARROW_INT, PFD_UINT16, 2, 0},
    {"i", PFD_ARROW_INT, PFD_INT32, 2, 0},
    {"I", PFD_ARROW_INT, PFD_UINT32, 2, 0},
    {"l", PFD_ARROW_INT, PFD_INT64, 2, 0},
    {"L", PFD_ARROW_INT, PFD_UINT64, 2, 0},
    {"e", PFD_ARROW_FLOAT, PFD_FLOAT16, 2, 0},
    {"f", PFD_ARROW_FLOAT, PFD_FLOAT32, 2, 0},
    {"g", PFD_ARROW_FLOAT, PFD_FLOAT64, 2, 0},
    {"z", PFD_ARROW_BINARY, 0, 3, 0},
    {"u", PFD_ARROW_UTF8, 0, 3, 0},
    {"Z", PFD_ARROW_LARGE_BINARY, 0, 3, 0},
    {"U", PFD_ARROW_LARGE_UTF8, 0, 3, 0},
    {"vz", PFD_ARROW_BINARY_VIEW, 0, 2, 0},
    {"vu", PFD_ARROW_UTF8_VIEW, 0, 2, 0},
    {"tdD", PFD_ARROW_DATE, PFD_INT32, 2, 0},
    {"tdm", PFD_ARROW_DATE, PFD_INT64, 2, 0},
    {"tts", PFD_ARROW_TIME, PFD_INT32, 2, 0},
    {"ttm", PFD_ARROW_TIME, PFD_INT32, 2, 0},
    {"ttu", PFD_ARROW_TIME, PFD_INT64, 2, 0},
    {"ttn", PFD_ARROW_TIME, PFD_INT64, 2, 0},
    {"ts", PFD_ARROW_TIMESTAMP, PFD_INT64, 2, 1},
    {"tD", PFD_ARROW_DURATION, PFD_INT64, 2, 1},
    {"w:", PFD_ARROW_FIXED_BINARY, 0, 2, 1},
    {"+l", PFD_ARROW_LIST, 0, 2, 0},
    {"+L", PFD_ARROW_LARGE_LIST, 0, 2, 0},
    {"+w:", PFD_ARROW_FIXED_LIST, 0, 1, 1},
    {"+s", PFD_ARROW_STRUCT, 0, 1, 0},
    {"+m", PFD_ARROW_MAP, 0, 2, 0},
    {"d:", PFD_ARROW_DECIMAL, 0, 2, 1},
    /* Rows are not made of these: their buffers are left out. */
    {"ti", PFD_ARROW_INTERVAL, 0, 0, 1},
    {"+u", PFD_ARROW_UNION, 0, 0, 1},
    {"+r", PFD_ARROW_RUN_END, 0, 0, 0},
    {"+vl", PFD_ARROW_LIST_VIEW, 0, 0, 0},
    {"+vL", PFD_ARROW_LARGE_LIST_VIEW, 0, 0, 0},
};

static const format *find_format(const char *text)
{
    static const format unknown = {"", 0, 0, 0, 0};
    for (size_t i = 0; text && i < PFD_COUNT(formats); i++) {
        const format *one = &formats[i];
        if (one->is_prefix ? !strncmp(text, one->text, strlen(one->text))
                           : !strcmp(text, one->text))
            return one;
    }
    return &unknown;
}

/* The type of what a field's own buffers have. */
static int32_t type_of(const pfd_arrow_field *field)
{
    return field->has_dictionary ? PFD_ARROW_INT : field->type;
}

/* Buffers of the values of a dictionary that rows can be made of. */
static int32_t buffers_of(const pfd_arrow_field *field)
{
    size_t i = 0;
    if (pfd_arrow_is_list(field->type) || field->type == PFD_ARROW_FIXED_LIST ||
        field->type == PFD_ARROW_STRUCT || field->type == PFD_ARROW_MAP)
        return 0;
    while (i < PFD_COUNT(formats) && formats[i].type != field->type) i++;
    return i < PFD_COUNT(formats) ? formats[i].buffers : 0;
}

static int32_t is_view(const pfd_arrow_field *field)
{
    return type_of(field) == PFD_ARROW_BINARY_VIEW || type_of(field) == PFD_ARROW_UTF8_VIEW;
}

static int64_t count_fields(const pfd_exported_schema *from, int32_t depth)
{
    int64_t n = 1;
    if (depth > PFD_ARROW_MOST_DEPTH || from->n_children < 0 ||
        from->n_children > PFD_ARROW_MOST_FIELDS)
        return PFD_ARROW_MOST_FIELDS + 1;
    for (int64_t i = 0; i < from->n_children && n <= PFD_ARROW_MOST_FIELDS; i++)
        n += from->children && from->children[i] ? count_fields(from->children[i], depth + 1)
                                                 : PFD_ARROW_MOST_FIELDS;
    return n;
}

/* "precision,scale", and ",bits" if these are not 128. */
static void read_decimal(const char *text, pfd_arrow_field *field)
{
    int precision, scale, bits = 128;
    if (sscanf(text, "%9d,%9d,%9d", &precision, &scale, &bits) < 2) bits = 0;
    field->scale = bits ? scale : 0;
    field->size = bits / 8;
    field->dtype = pfd_arrow_decimal_dtype(field->size, field->scale);
}

/* Adds a field and its children.  That of a dictionary has the type of the values. */
static void add_field(pfd_arrow_schema *out, const pfd_exported_schema *from)
{
    const pfd_exported_schema *values = from->dictionary ? from->dictionary : from;
    const format *found = find_format(values->format), *own = find_format(from->format);
    pfd_arrow_field *field = &out->fields[out->num_fields++];
    const char *name = from->name ? from->name : "";
    *field = (pfd_arrow_field){.name = name, .name_size = (int64_t)strlen(name),
                               .type = found->type, .dtype = found->dtype,
                               .node = out->num_nodes++, .buffer = out->num_buffers,
                               .views = out->num_views,
                               .num_children = (int32_t)from->n_children};
    if (from->dictionary) {
        for (int32_t i = 0; i < out->num_fields - 1; i++)
            field->dictionary += out->fields[i].has_dictionary;
        field->has_dictionary = 1;
        field->index = own->type == PFD_ARROW_INT ? own->dtype : 0;
        if (values->dictionary) field->type = 0;
    }
    out->num_buffers += own->buffers;
    out->num_views += is_view(field);
    if (field->type == PFD_ARROW_FIXED_BINARY || field->type == PFD_ARROW_FIXED_LIST)
        field->size = strtoll(values->format + strlen(found->text), NULL, 10);
    if (field->type == PFD_ARROW_DECIMAL) read_decimal(values->format + strlen(found->text), field);
    for (int64_t i = 0; i < from->n_children; i++) add_field(out, from->children[i]);
    field->end = out->num_fields;
}

/* The children that the readable types have. */
static int32_t has_form(const pfd_arrow_field *field)
{
    int32_t is_list = pfd_arrow_is_list(field->type) || field->type == PFD_ARROW_FIXED_LIST ||
                      field->type == PFD_ARROW_MAP;
    if (field->has_dictionary) return field->index != 0 && field->num_children == 0;
    return field->size >= 0 && field->size <= INT32_MAX && (!is_list || field->num_children == 1);
}

pfd_status pfd_arrow_schema_import(const pfd_host *host, const pfd_exported_schema *from,
                                   pfd_arrow_schema *out, pfd_error *err)
{
    *out = (pfd_arrow_schema){0};
    int64_t n = count_fields(from, 0);
    if (!from->format || strcmp(from->format, "+s") != 0 || n > PFD_ARROW_MOST_FIELDS)
        return host->fail(err, PFD_INVALID_ARGUMENT,
                          "this is no table, a struct of columns, of at most 65536 fields");
    out->fields = calloc((size_t)n, sizeof *out->fields);
    if (!out->fields) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a schema");
    for (int64_t i = 0; i < from->n_children; i++) add_field(out, from->children[i]);
    for (int32_t i = 0; i < out->num_fields; i++)
        if (!has_form(&out->fields[i]))
            return host->fail(err, PFD_INVALID_ARGUMENT,
                              "field '%.100s' of the schema does not have the form of its type",
                              out->fields[i].name);
    return PFD_OK;
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

typedef struct importer {
    const pfd_host *host;
    const pfd_arrow_schema *schema;
    pfd_arrow_imported *out;
    int64_t *buffer_of_field; /* the number of its first buffer in this batch */
    int32_t is_out_of_memory;
} importer;

static void put_pair(uint8_t *list, int64_t i, int64_t a, int64_t b)
{
    memcpy(list + 16 * i, &a, sizeof a);
    memcpy(list + 16 * i + 8, &b, sizeof b);
}

/* For now extents are addresses. */
static void set_buffer(importer *im, int64_t number, const void *at, int64_t size)
{
    im->out->extents[number] = (pfd_arrow_extent){at ? (int64_t)(intptr_t)at : 0, at ? size : 0};
}

/* Bits [begin, begin + n) as a bitmap. */
static void set_bits(importer *im, int64_t number, const uint8_t *bits, int64_t begin, int64_t n)
{
    pfd_arrow_imported *out = im->out;
    if (!bits || begin % 8 == 0) {
        set_buffer(im, number, bits ? bits + begin / 8 : NULL, (n + 7) / 8);
        return;
    }
    uint8_t *made = calloc((size_t)n / 8 + 1, 1);
    uint8_t **grown = realloc(out->bitmaps, (size_t)(out->num_bitmaps + 1) * sizeof *grown);
    if (grown) out->bitmaps = grown;
    if (!made || !grown) {
        free(made);
        im->is_out_of_memory = 1;
        return;
    }
    out->bitmaps[out->num_bitmaps++] = made;
    for (int64_t i = 0; i < n; i++)
        made[i / 8] |= (uint8_t)((bits[(begin + i) / 8] >> ((begin + i) % 8) & 1) << (i % 8));
    set_buffer(im, number, made, (n + 7) / 8);
}

/* How many of the items [begin, begin + n) are null; a producer need not have counted, and counts
 * the whole array. */
static int64_t count_nulls(const pfd_exported_array *array, int64_t begin, int64_t n)
{
    const uint8_t *bits = array->buffers[0];
    int64_t nulls = 0, i = begin, end = begin + n;
    if (!bits || array->null_count == 0) return 0;
    for (; i < end && i % 8 != 0; i++) nulls += !(bits[i / 8] >> (i % 8) & 1);
    for (; i + 8 <= end; i += 8) nulls += 8 - __builtin_popcount(bits[i / 8]);
    for (; i < end; i++) nulls += !(bits[i / 8] >> (i % 8) & 1);
    return nulls;
}

static const uint8_t *at(const pfd_exported_array *array, int32_t k, int64_t offset)
{
    const uint8_t *data = array->buffers[k];
    return data ? data + offset : NULL;
}

/* Offset i of a buffer of offsets, which a producer may leave out where there are no items. */
static int64_t offset_at(const pfd_exported_array *array, int64_t i, int32_t bytes)
{
    const uint8_t *data = at(array, 1, i * bytes);
    if (!data) return 0;
    return bytes == 8 ? (int64_t)pfd_load_le64(data) : (int32_t)pfd_load_le32(data);
}

/* The buffers of views: those with the bytes, and last one with the sizes of these as int64. */
static int32_t set_views(importer *im, const pfd_arrow_field *field, int64_t first,
                         const pfd_exported_array *array, int64_t begin, int64_t n)
{
    int64_t extra = array->n_buffers - 3;
    if (extra < 0) return 0;
    const uint8_t *sizes = array->buffers[array->n_buffers - 1];
    set_buffer(im, first + 1, at(array, 1, 16 * begin), 16 * n);
    for (int64_t i = 0; i < extra; i++)
        set_buffer(im, first + 2 + i, array->buffers[2 + i],
                   sizes ? (int64_t)pfd_load_le64(sizes + 8 * i) : 0);
    memcpy(im->out->views + 8 * field->views, &extra, sizeof extra);
    return 1;
}

static int32_t set_values(importer *im, const pfd_arrow_field *field, int64_t first,
                          const pfd_exported_array *array, int64_t begin, int64_t n)
{
    int32_t type = type_of(field);
    int32_t bytes = type == PFD_ARROW_LARGE_BINARY || type == PFD_ARROW_LARGE_UTF8 ||
                            type == PFD_ARROW_LARGE_LIST
                        ? 8
                        : 4;
    switch (type) {
    case PFD_ARROW_BINARY:
    case PFD_ARROW_UTF8:
    case PFD_ARROW_LARGE_BINARY:
    case PFD_ARROW_LARGE_UTF8:
        if (array->n_buffers < 3) return 0;
        set_buffer(im, first + 1, at(array, 1, begin * bytes), n ? (n + 1) * bytes : 0);
        set_buffer(im, first + 2, array->buffers[2], n ? offset_at(array, begin + n, bytes) : 0);
        return 1;
    case PFD_ARROW_MAP:
    case PFD_ARROW_LIST:
    case PFD_ARROW_LARGE_LIST:
        set_buffer(im, first + 1, at(array, 1, begin * bytes), n ? (n + 1) * bytes : 0);
        return 1;
    case PFD_ARROW_BINARY_VIEW:
    case PFD_ARROW_UTF8_VIEW: return set_views(im, field, first, array, begin, n);
    case PFD_ARROW_BOOL: set_bits(im, first + 1, array->buffers[1], begin, n); return 1;
    default: break;
    }
    int32_t is_sized = type == PFD_ARROW_FIXED_BINARY || type == PFD_ARROW_DECIMAL;
    int64_t item = is_sized                ? field->size
                   : field->has_dictionary ? pfd_dtype_size(field->index)
                                           : pfd_dtype_size(field->dtype);
    set_buffer(im, first + 1, at(array, 1, begin * item), n * item);
    return 1;
}

/* The values of a dictionary as a table of one column, *plain. */
static pfd_arrow_schema schema_of_values(const pfd_arrow_field *field, pfd_arrow_field *plain)
{
    *plain = *field;
    plain->has_dictionary = plain->num_children = plain->node = plain->buffer = plain->views = 0;
    plain->end = 1;
    return (pfd_arrow_schema){.fields = plain, .num_fields = 1, .num_nodes = 1,
                              .num_buffers = buffers_of(plain), .num_views = is_view(plain)};
}

/* Imports the values of a dictionary; 0: they do not have the form of the schema. */
static int32_t add_dictionary(importer *im, const pfd_arrow_field *field,
                              pfd_exported_array *values)
{
    pfd_arrow_field plain;
    pfd_arrow_schema schema = schema_of_values(field, &plain);
    if (!values || values->length < 0) return 0;
    if (schema.num_buffers == 0) return 1; /* rows are not made of it */
    pfd_exported_array table = {.length = values->length, .n_children = 1, .children = &values};
    pfd_error ignored;
    pfd_error_init(&ignored);
    pfd_status status = pfd_arrow_array_import(im->host, &schema, &table,
                                               &im->out->dictionaries[field->dictionary], &ignored);
    im->is_out_of_memory |= status == PFD_OUT_OF_MEMORY;
    return status == PFD_OK;
}

/* Imports items [begin, begin + n) of the array of field i, counted from its offset; 0: it does not
 * have the form of the schema. */
static int32_t add_array(importer *im, int32_t i, const pfd_exported_array *array, int64_t begin,
                         int64_t n)
{
    const pfd_arrow_field *fields = im->schema->fields, *field = &fields[i];
    int32_t type = type_of(field), is_fixed = type == PFD_ARROW_FIXED_LIST;
    int32_t is_struct = type == PFD_ARROW_STRUCT, has_buffers = type != 0;
    if (!array || array->offset < 0 || array->length < 0 || n < 0 || begin > array->length - n ||
        array->length > INT64_MAX / 64 || array->offset > INT64_MAX / 64 ||
        array->n_children != field->num_children)
        return 0;
    int64_t next = i + 1 < im->schema->num_fields ? fields[i + 1].buffer : im->schema->num_buffers;
    int64_t buffers = next - field->buffer, first = im->buffer_of_field[i];
    if (buffers == 0 || !has_buffers) { /* rows are not made of it: all of it has no items */
        put_pair(im->out->nodes, field->node, n, 0);
        return 1;
    }
    if (array->n_buffers < buffers || !array->buffers) return 0;
    begin += array->offset;
    put_pair(im->out->nodes, field->node, n, count_nulls(array, begin, n));
    set_bits(im, first, array->buffers[0], begin, n);
    if (!is_fixed && !is_struct && !set_values(im, field, first, array, begin, n)) return 0;
    if (field->has_dictionary) return add_dictionary(im, field, array->dictionary);
    if (is_fixed)
        return (field->size == 0 || n <= INT64_MAX / 64 / field->size) &&
               add_array(im, i + 1, array->children[0], begin * field->size, n * field->size);
    if (pfd_arrow_is_list(type) || type == PFD_ARROW_MAP)
        return array->children[0] &&
               add_array(im, i + 1, array->children[0], 0, array->children[0]->length);
    int32_t child = i + 1;
    for (int64_t k = 0; is_struct && k < array->n_children; k++, child = fields[child].end)
        if (!add_array(im, child, array->children[k], begin, n)) return 0;
    return 1;
}

/* How many extra buffers the views of each field have, and so the number of each buffer. */
static int64_t number_buffers(importer *im, int32_t i, const pfd_exported_array *array)
{
    const pfd_arrow_field *field = &im->schema->fields[i];
    int64_t extra = 0;
    if (!array || array->n_children != field->num_children) return -1;
    if (is_view(field) && array->n_buffers > 3) extra = array->n_buffers - 3;
    int32_t child = i + 1;
    for (int64_t k = 0; k < array->n_children; k++, child = im->schema->fields[child].end) {
        int64_t more = number_buffers(im, child, array->children[k]);
        if (more < 0) return -1;
        extra += more;
    }
    return extra;
}

/* Fields are in depth-first order, as their buffers are. */
static void place_buffers(importer *im, int32_t i, const pfd_exported_array *array, int64_t *extra)
{
    const pfd_arrow_field *field = &im->schema->fields[i];
    im->buffer_of_field[i] = field->buffer + *extra;
    if (is_view(field) && array->n_buffers > 3) *extra += array->n_buffers - 3;
    int32_t child = i + 1;
    for (int64_t k = 0; k < array->n_children; k++, child = im->schema->fields[child].end)
        place_buffers(im, child, array->children[k], extra);
}

/* Counts extents from a place before all buffers: none begins at 0, which means no validity. */
static void settle(pfd_arrow_imported *out)
{
    enum { BEFORE = 64 };
    int64_t lowest = INT64_MAX;
    for (int64_t i = 0; i < out->batch.num_buffers; i++) {
        out->bytes += out->extents[i].size;
        if (out->extents[i].offset && out->extents[i].offset < lowest)
            lowest = out->extents[i].offset;
    }
    if (lowest == INT64_MAX) lowest = (int64_t)(intptr_t)out->nodes;
    out->base = (const uint8_t *)(intptr_t)(lowest - BEFORE);
    for (int64_t i = 0; i < out->batch.num_buffers; i++)
        out->extents[i].offset =
            out->extents[i].offset ? out->extents[i].offset - lowest + BEFORE : BEFORE;
}

static pfd_status fail_form(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_CORRUPT_DATA, "an array does not have the form of its schema");
}

pfd_status pfd_arrow_array_import(const pfd_host *host, const pfd_arrow_schema *schema,
                                  const pfd_exported_array *array, pfd_arrow_imported *out,
                                  pfd_error *err)
{
    importer im = {.host = host, .schema = schema, .out = out};
    int64_t n = array->length, extra = 0;
    int32_t i = 0, count = 0;
    *out = (pfd_arrow_imported){0};
    for (; i < schema->num_fields; i = schema->fields[i].end, count++) {
        int64_t more = count < array->n_children ? number_buffers(&im, i, array->children[count])
                                                 : -1;
        if (more < 0) return fail_form(host, err);
        extra += more;
    }
    int64_t buffers = schema->num_buffers + extra;
    out->extents = calloc((size_t)buffers + 1, sizeof *out->extents);
    out->nodes = calloc((size_t)schema->num_nodes + 1, 16);
    out->views = calloc((size_t)schema->num_views + 1, 8);
    im.buffer_of_field = calloc((size_t)schema->num_fields + 1, sizeof *im.buffer_of_field);
    for (i = 0; i < schema->num_fields; i++)
        out->num_dictionaries += schema->fields[i].has_dictionary;
    out->dictionaries = calloc((size_t)out->num_dictionaries + 1, sizeof *out->dictionaries);
    int32_t is_complete = out->extents && out->nodes && out->views && im.buffer_of_field &&
                          out->dictionaries;
    int32_t has_form = n >= 0 && array->offset >= 0;
    extra = 0;
    for (i = 0, count = 0; is_complete && i < schema->num_fields; i = schema->fields[i].end)
        place_buffers(&im, i, array->children[count++], &extra);
    for (i = 0, count = 0; is_complete && has_form && i < schema->num_fields;
         i = schema->fields[i].end)
        has_form = add_array(&im, i, array->children[count++], array->offset, n);
    free(im.buffer_of_field);
    if (!is_complete || im.is_out_of_memory)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the arrays of a table");
    if (!has_form) return fail_form(host, err);
    out->batch = (pfd_arrow_batch){.rows = n, .num_nodes = schema->num_nodes,
                                   .num_buffers = buffers, .num_views = schema->num_views,
                                   .nodes = out->nodes, .views = out->views,
                                   .codec = PFD_ARROW_PLAIN};
    settle(out);
    return PFD_OK;
}

/* ---- Digests --------------------------------------------------------------------------------- */

uint64_t pfd_arrow_schema_digest(const pfd_arrow_schema *schema)
{
    uint64_t digest = 0;
    for (int32_t i = 0; i < schema->num_fields; i++) {
        const pfd_arrow_field *field = &schema->fields[i];
        digest = pfd_hash_bytes(digest, field->name, field->name_size);
        digest = pfd_hash_word(digest, (uint64_t)field->type << 32 | (uint32_t)field->dtype);
        digest = pfd_hash_word(digest, (uint64_t)field->size << 16 ^ (uint64_t)field->end);
    }
    return digest;
}

/* The bits after the last item may be any. */
static uint64_t digest_bits(const uint8_t *bits, int64_t n)
{
    uint64_t digest = pfd_xxh64(bits, n / 8);
    return n % 8 ? pfd_hash_word(digest, bits[n / 8] & ((1u << (n % 8)) - 1)) : digest;
}

uint64_t pfd_arrow_imported_digest(const pfd_arrow_schema *schema,
                                   const pfd_arrow_imported *imported)
{
    uint64_t digest = (uint64_t)imported->batch.rows;
    int64_t number = 0;
    for (int32_t i = 0; i < schema->num_fields; i++) {
        const pfd_arrow_field *field = &schema->fields[i];
        int32_t is_last = i + 1 == schema->num_fields;
        int64_t buffers = (is_last ? schema->num_buffers : field[1].buffer) - field->buffer;
        int64_t n = (int64_t)pfd_load_le64(imported->nodes + 16 * (int64_t)field->node);
        if (is_view(field)) buffers += (int64_t)pfd_load_le64(imported->views + 8 * field->views);
        digest = pfd_hash_word(digest, (uint64_t)n);
        for (int64_t k = 0; k < buffers; k++, number++) {
            pfd_arrow_extent extent = imported->extents[number];
            const uint8_t *data = imported->base + extent.offset;
            int32_t is_bits = k == 0 || type_of(field) == PFD_ARROW_BOOL;
            digest = pfd_hash_word(digest, (uint64_t)extent.size);
            if (extent.size > 0)
                digest = pfd_hash_word(digest, is_bits ? digest_bits(data, n)
                                                       : pfd_xxh64(data, extent.size));
        }
    }
    for (int32_t i = 0; i < schema->num_fields; i++) {
        pfd_arrow_field plain;
        pfd_arrow_schema one = schema_of_values(&schema->fields[i], &plain);
        if (!schema->fields[i].has_dictionary || one.num_buffers == 0) continue;
        const pfd_arrow_imported *values = &imported->dictionaries[schema->fields[i].dictionary];
        digest = pfd_hash_word(digest, pfd_arrow_imported_digest(&one, values));
    }
    return digest;
}

void pfd_arrow_imported_free(pfd_arrow_imported *imported)
{
    for (int64_t i = 0; i < imported->num_bitmaps; i++) free(imported->bitmaps[i]);
    free(imported->bitmaps);
    free(imported->extents);
    free(imported->nodes);
    free(imported->views);
    for (int64_t i = 0; i < imported->num_dictionaries; i++)
        if (imported->dictionaries) pfd_arrow_imported_free(&imported->dictionaries[i]);
    free(imported->dictionaries);
    *imported = (pfd_arrow_imported){0};
}

/* ---- Structs that Python has filled in ------------------------------------------------------- */

/* A consumer releases a struct in any thread, with or without the interpreter's lock, and even
 * while an exception is raised, when no Python code may run. */

static pfd_python_calls python;

void pfd_exported_python_set(const pfd_python_calls *calls)
{
    python = *calls;
}

/* After the end of the interpreter an object stays where it is. */
static void give_back(void *object)
{
    if (!object || !python.Py_IsInitialized()) return;
    int state = python.PyGILState_Ensure();
    python.Py_DecRef(object);
    python.PyGILState_Release(state);
}

/* Defines `release` and the destructor of a capsule for one kind of struct.  NAME is the name of
 * its capsules. */
#define ARROW_STRUCT(kind, NAME, RELEASE_CHILDREN)                                                 \
    void pfd_exported_##kind##_release(pfd_exported_##kind *self)                                  \
    {                                                                                              \
        RELEASE_CHILDREN                                                                           \
        void *owner = self->private_data;                                                          \
        self->private_data = NULL;                                                                 \
        self->release = NULL;                                                                      \
        give_back(owner);                                                                          \
    }                                                                                              \
                                                                                                   \
    void pfd_exported_##kind##_capsule_end(void *capsule)                                          \
    {                                                                                              \
        pfd_exported_##kind *self = python.PyCapsule_GetPointer(capsule, NAME);                    \
        void *owner = python.PyCapsule_GetContext(capsule);                                        \
        if (self && self->release) self->release(self);                                            \
        give_back(owner);                                                                          \
    }

#define CHILDREN_TOO                                                                               \
    for (int64_t i = 0; i < self->n_children; i++)                                                 \
        if (self->children[i]->release) self->children[i]->release(self->children[i]);

ARROW_STRUCT(schema, "arrow_schema", CHILDREN_TOO)
ARROW_STRUCT(array, "arrow_array", CHILDREN_TOO)
ARROW_STRUCT(stream, "arrow_array_stream", )
