/* Reads MessagePack; chooses the fields that the user wants, and reads them from the bytes of a
 * row. */
#include "formats/mindrecord/mindrecord_row.h"

#include "core/bytes.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- MessagePack: a byte with the type, then a length or a value, big-endian ----------------- */

static int32_t refuse(pfd_msgpack *cursor, int64_t begin, const char *problem)
{
    cursor->at = begin;
    if (!cursor->problem) cursor->problem = problem;
    return 0;
}

/* Takes a big-endian number of 1, 2, 4 or 8 bytes.  Returns 0 if the bytes end before. */
static int32_t take_number(pfd_msgpack *cursor, int32_t bytes, uint64_t *value)
{
    if (cursor->size - cursor->at < bytes) return 0;
    *value = pfd_load_be(cursor->data + cursor->at, bytes);
    cursor->at += bytes;
    return 1;
}

static void put_integer(pfd_msgpack_value *value, int64_t integer)
{
    value->kind = PFD_MSGPACK_INT;
    value->integer = integer;
}

/* Takes a string, bytes or extension of `size` bytes. */
static int32_t take_bytes(pfd_msgpack *cursor, int32_t kind, uint64_t size,
                          pfd_msgpack_value *value)
{
    uint64_t type;
    if (kind == PFD_MSGPACK_EXTENSION) {
        if (!take_number(cursor, 1, &type)) return 0;
        value->integer = (int8_t)type;
    }
    if (size > (uint64_t)(cursor->size - cursor->at)) return 0;
    value->kind = kind;
    value->data = cursor->data + cursor->at;
    value->size = (int64_t)size;
    cursor->at += (int64_t)size;
    return 1;
}

/* Takes the head of an array or map of `count` elements or pairs, each of at least one byte. */
static int32_t take_head(const pfd_msgpack *cursor, int32_t kind, uint64_t count,
                         pfd_msgpack_value *value)
{
    uint64_t each = kind == PFD_MSGPACK_MAP ? 2 : 1;
    if (count > (uint64_t)(cursor->size - cursor->at) / each) return 0;
    value->kind = kind;
    value->size = (int64_t)count;
    return 1;
}

/* Takes a value of type 0xc4 to 0xc9 or 0xd9 to 0xdf: a length of 1, 2 or 4 bytes, then that many
 * bytes or values. */
static int32_t take_sized(pfd_msgpack *cursor, uint8_t type, pfd_msgpack_value *value)
{
    uint64_t size;
    if (type >= 0xdc) {
        if (!take_number(cursor, type % 2 ? 4 : 2, &size)) return 0;
        return take_head(cursor, type < 0xde ? PFD_MSGPACK_ARRAY : PFD_MSGPACK_MAP, size, value);
    }
    int32_t kind = type >= 0xd9   ? PFD_MSGPACK_STRING
                   : type >= 0xc7 ? PFD_MSGPACK_EXTENSION
                                  : PFD_MSGPACK_BINARY;
    int32_t first = kind == PFD_MSGPACK_STRING ? 0xd9 : kind == PFD_MSGPACK_BINARY ? 0xc4 : 0xc7;
    if (!take_number(cursor, 1 << (type - first), &size)) return 0;
    return take_bytes(cursor, kind, size, value);
}

static int32_t take_float(pfd_msgpack *cursor, int32_t bytes, pfd_msgpack_value *value)
{
    uint64_t bits;
    if (!take_number(cursor, bytes, &bits)) return 0;
    value->kind = PFD_MSGPACK_FLOAT;
    if (bytes == 8) {
        memcpy(&value->number, &bits, sizeof bits);
    } else {
        uint32_t low = (uint32_t)bits;
        float number;
        memcpy(&number, &low, sizeof low);
        value->number = (double)number;
    }
    return 1;
}

static int32_t take_integer(pfd_msgpack *cursor, uint8_t type, pfd_msgpack_value *value)
{
    int32_t bytes = 1 << (type & 3); /* 0xcc to 0xcf unsigned, 0xd0 to 0xd3 signed */
    uint64_t bits;
    if (!take_number(cursor, bytes, &bits)) return 0;
    if (type >= 0xd0) {
        int32_t unused = 64 - 8 * bytes;
        put_integer(value, (int64_t)(bits << unused) >> unused);
    } else {
        put_integer(value, (int64_t)bits);
        if (bits > INT64_MAX) value->kind = PFD_MSGPACK_UINT64;
    }
    return 1;
}

static int32_t take_value(pfd_msgpack *cursor, uint8_t type, pfd_msgpack_value *value)
{
    if (type < 0x80 || type >= 0xe0) return put_integer(value, (int8_t)type), 1;
    if (type < 0x90) return take_head(cursor, PFD_MSGPACK_MAP, type & 0x0f, value);
    if (type < 0xa0) return take_head(cursor, PFD_MSGPACK_ARRAY, type & 0x0f, value);
    if (type < 0xc0) return take_bytes(cursor, PFD_MSGPACK_STRING, type & 0x1f, value);
    if (type == 0xc0) return 1;
    if (type == 0xc2 || type == 0xc3) {
        put_integer(value, type & 1);
        value->kind = PFD_MSGPACK_BOOL;
        return 1;
    }
    if (type == 0xca || type == 0xcb) return take_float(cursor, type == 0xca ? 4 : 8, value);
    if (type >= 0xcc && type <= 0xd3) return take_integer(cursor, type, value);
    if (type >= 0xd4 && type <= 0xd8)
        return take_bytes(cursor, PFD_MSGPACK_EXTENSION, 1ull << (type - 0xd4), value);
    return take_sized(cursor, type, value);
}

int32_t pfd_msgpack_next(pfd_msgpack *cursor, pfd_msgpack_value *value)
{
    int64_t begin = cursor->at;
    *value = (pfd_msgpack_value){.kind = PFD_MSGPACK_NIL};
    if (cursor->problem) return 0;
    if (begin >= cursor->size) return refuse(cursor, begin, "expected a value, found the end");
    uint8_t type = cursor->data[cursor->at++];
    if (type == 0xc1) return refuse(cursor, begin, "expected a type, found the unused byte 0xc1");
    if (!take_value(cursor, type, value))
        return refuse(cursor, begin, "the bytes end inside this value");
    return 1;
}

int32_t pfd_msgpack_skip(pfd_msgpack *cursor)
{
    /* take_head() accepts at most as many values as bytes are left, so the sum cannot overflow
     * before the bytes end. */
    uint64_t left = 1;
    while (left > 0) {
        pfd_msgpack_value value;
        if (!pfd_msgpack_next(cursor, &value)) return 0;
        left--;
        if (value.kind == PFD_MSGPACK_ARRAY) left += (uint64_t)value.size;
        if (value.kind == PFD_MSGPACK_MAP) left += 2 * (uint64_t)value.size;
        if (left > (uint64_t)(cursor->size - cursor->at))
            return refuse(cursor, cursor->at, "expected more values than there are bytes");
    }
    return 1;
}

/* The name of a kind, "a map". */
static const char *msgpack_kind_name(int32_t kind)
{
    static const char *const names[] = {"nil",         "a bool",       "an integer",
                                        "an integer",  "a float",      "a string",
                                        "binary data", "an extension", "an array",
                                        "a map"};
    return kind >= 0 && kind < (int32_t)(sizeof names / sizeof *names) ? names[kind] : "a value";
}

/* ---- Choosing fields ------------------------------------------------------------------------- */
static int32_t is_bytes(const pfd_mindrecord_field *field)
{
    return field->type == PFD_MINDRECORD_STRING || field->type == PFD_MINDRECORD_BYTES;
}

const char *pfd_mindrecord_field_type(const pfd_mindrecord_field *field, char *out, size_t capacity)
{
    pfd_row_type type = {.dtype = field->type, .ndim = field->ndim};
    if (is_bytes(field)) return memcpy(out, "bytes", sizeof "bytes");
    memcpy(type.shape, field->shape, sizeof type.shape);
    return pfd_format_field_type(&type, out, capacity);
}

static int32_t fits(const pfd_field_spec *spec, const pfd_row_type *type,
                    const pfd_mindrecord_field *field)
{
    if (is_bytes(field)) {
        int32_t varies = 0;
        for (int32_t i = 0; i < type->ndim; i++) varies |= type->shape[i] < 0;
        return type->dtype == PFD_UINT8 && (type->ndim == 1 || (type->ndim > 1 && !varies));
    }
    if (!spec->has_type || type->dtype != field->type || type->ndim != field->ndim) return 0;
    for (int32_t i = 0; i < field->ndim; i++)
        if (type->shape[i] >= 0 && field->shape[i] >= 0 && type->shape[i] != field->shape[i])
            return 0;
    return 1;
}

static const char *list_fields(const pfd_mindrecord_header *header, char *out, size_t capacity)
{
    size_t used = 0;
    for (int64_t i = 0; i < header->num_fields; i++)
        used = pfd_add_name(out, capacity, used, header->fields[i].name);
    return used ? out : "none";
}

static pfd_status choose_one(const pfd_host *host, const char *attr, const pfd_field_spec *spec,
                             const pfd_row_type *type, const pfd_mindrecord_header *header,
                             const pfd_mindrecord_field **out, pfd_error *err)
{
    char names[512], shown[256], right[256];
    *out = NULL;
    for (int64_t i = 0; i < header->num_fields; i++)
        if (header->fields[i].name_size == spec->key_size &&
            memcmp(header->fields[i].name, spec->key, (size_t)spec->key_size) == 0)
            *out = &header->fields[i];
    if (!*out)
        return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                               ": the shards have no field '%.*s'; they have %s",
                               (int)spec->key_size, spec->key,
                               list_fields(header, names, sizeof names));
    if (fits(spec, type, *out)) return PFD_OK;
    return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
        ": the field '%.100s' is %s in the shards and cannot be read as %s; write '%.*s:%s'",
        (*out)->name,
        pfd_mindrecord_field_type(*out, right, sizeof right),
        spec->has_type ? pfd_format_row_type(type, shown, sizeof shown) : "without a type",
        (int)spec->key_size, spec->key, right);
}

static int by_place(const void *a, const void *b)
{
    const pfd_mindrecord_choice *x = a, *y = b;
    if (x->field->blob != y->field->blob) return x->field->blob - y->field->blob;
    return (x->output > y->output) - (x->output < y->output);
}

pfd_status pfd_mindrecord_choose(const pfd_host *host, const char *attr,
                                 const pfd_field_spec *specs, const pfd_row_type *types, int64_t n,
                                 const pfd_mindrecord_header *header, pfd_mindrecord_choice *out,
                                 int64_t *num_raw, pfd_error *err)
{
    *num_raw = 0;
    for (int64_t i = 0; i < n; i++) {
        out[i].output = i;
        PFD_TRY(choose_one(host, attr, &specs[i], &types[i], header, &out[i].field, err));
        *num_raw += out[i].field->blob < 0;
    }
    qsort(out, (size_t)n, sizeof *out, by_place);
    return PFD_OK;
}

/* ---- One value ------------------------------------------------------------------------------- */
__attribute__((format(printf, 5, 6))) static pfd_status
fail_field(const pfd_mindrecord_bytes *from, int64_t at, const pfd_mindrecord_field *field,
           pfd_error *err, const char *format, ...)
{
    char found[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(found, sizeof found, format, args);
    va_end(args);
    return from->host->fail_row(err, 0, at, PFD_CORRUPT_DATA, "the field '%.100s' %s", field->name,
                                found);
}

/* Sets the bytes of a string or of bytes, as many as the output has. */
static pfd_status set_bytes(const pfd_mindrecord_bytes *from, int64_t at,
                            const pfd_mindrecord_choice *choice, const uint8_t *data, int64_t size,
                            pfd_error *err)
{
    const pfd_row_type *type = &from->types[choice->output];
    int64_t expected = 1;
    for (int32_t i = 0; i < type->ndim; i++) {
        if (type->shape[i] < 0) expected = size;
        else if (__builtin_mul_overflow(expected, type->shape[i], &expected)) expected = -1;
    }
    if (expected != size)
        return fail_field(from, at, choice->field, err,
                          "has %" PRId64 " bytes here, but the output %" PRId64, size, expected);
    from->parts[choice->output].data = data;
    from->parts[choice->output].size = size;
    return PFD_OK;
}

static void set_number(pfd_field_part *part, const void *value, int64_t size)
{
    memcpy(part->shape, value, (size_t)size);
    part->data = part->shape;
    part->size = size;
}

static pfd_status set_integer(const pfd_mindrecord_bytes *from, int64_t at,
                              const pfd_mindrecord_choice *choice, const pfd_msgpack_value *value,
                              pfd_error *err)
{
    pfd_field_part *part = &from->parts[choice->output];
    int32_t is_wide = choice->field->type == PFD_INT64;
    if (value->kind != PFD_MSGPACK_INT ||
        (!is_wide && (value->integer < INT32_MIN || value->integer > INT32_MAX)))
        return fail_field(from, at, choice->field, err, "is %s, which is not a %s",
                          msgpack_kind_name(value->kind), is_wide ? "int64" : "int32");
    int32_t narrow = (int32_t)value->integer;
    if (is_wide) set_number(part, &value->integer, (int64_t)sizeof value->integer);
    else set_number(part, &narrow, (int64_t)sizeof narrow);
    return PFD_OK;
}

/* Accepts integers too: some writers store 3.0 as one. */
static pfd_status set_float(const pfd_mindrecord_bytes *from, int64_t at,
                            const pfd_mindrecord_choice *choice, const pfd_msgpack_value *value,
                            pfd_error *err)
{
    double number = value->number;
    if (value->kind == PFD_MSGPACK_INT) number = (double)value->integer;
    else if (value->kind == PFD_MSGPACK_UINT64) number = (double)(uint64_t)value->integer;
    else if (value->kind != PFD_MSGPACK_FLOAT)
        return fail_field(from, at, choice->field, err, "is %s; a number was expected",
                          msgpack_kind_name(value->kind));
    float narrow = (float)number;
    pfd_field_part *part = &from->parts[choice->output];
    if (choice->field->type == PFD_FLOAT64) set_number(part, &number, (int64_t)sizeof number);
    else set_number(part, &narrow, (int64_t)sizeof narrow);
    return PFD_OK;
}

static pfd_status set_value(const pfd_mindrecord_bytes *from, int64_t at,
                            const pfd_mindrecord_choice *choice, const pfd_msgpack_value *value,
                            pfd_error *err)
{
    int32_t type = choice->field->type;
    if (type == PFD_INT32 || type == PFD_INT64) return set_integer(from, at, choice, value, err);
    if (type == PFD_FLOAT32 || type == PFD_FLOAT64) return set_float(from, at, choice, value, err);
    if (value->kind != PFD_MSGPACK_STRING && value->kind != PFD_MSGPACK_BINARY)
        return fail_field(from, at, choice->field, err, "is %s; a string was expected",
                          msgpack_kind_name(value->kind));
    return set_bytes(from, at, choice, value->data, value->size, err);
}

/* ---- The raw row ----------------------------------------------------------------------------- */
static pfd_status fail_msgpack(const pfd_mindrecord_bytes *from, const pfd_msgpack *cursor,
                               pfd_error *err)
{
    return from->host->fail_row(err, 0, cursor->at, PFD_CORRUPT_DATA, "the raw row: %s",
                                cursor->problem ? cursor->problem : "expected a map of its fields");
}

/* Reads one field of the map for all outputs that want it. */
static pfd_status read_pair(const pfd_mindrecord_bytes *from, pfd_msgpack *cursor,
                            const pfd_mindrecord_choice *choices, int64_t n, pfd_error *err)
{
    pfd_msgpack_value key, value;
    int32_t is_read = 0;
    if (!pfd_msgpack_next(cursor, &key) || key.kind != PFD_MSGPACK_STRING)
        return fail_msgpack(from, cursor, err);
    int64_t at = cursor->at;
    for (int64_t i = 0; i < n; i++) {
        const pfd_mindrecord_field *field = choices[i].field;
        if (field->name_size != key.size || memcmp(field->name, key.data, (size_t)key.size) != 0)
            continue;
        if (!is_read && !pfd_msgpack_next(cursor, &value)) return fail_msgpack(from, cursor, err);
        is_read = 1;
        PFD_TRY(set_value(from, at, &choices[i], &value, err));
    }
    if (!is_read && !pfd_msgpack_skip(cursor)) return fail_msgpack(from, cursor, err);
    return PFD_OK;
}

pfd_status pfd_mindrecord_read_raw(const pfd_mindrecord_bytes *from,
                                   const pfd_mindrecord_choice *choices, int64_t n, pfd_error *err)
{
    pfd_msgpack cursor = {.data = from->data, .size = from->size};
    pfd_msgpack_value map;
    if (!pfd_msgpack_next(&cursor, &map) || map.kind != PFD_MSGPACK_MAP) {
        if (!cursor.problem) cursor.at = 0;
        return fail_msgpack(from, &cursor, err);
    }
    for (int64_t i = 0; i < n; i++) from->parts[choices[i].output].data = NULL;
    for (int64_t i = 0; i < map.size; i++) PFD_TRY(read_pair(from, &cursor, choices, n, err));
    if (cursor.at != from->size)
        return from->host->fail_row(err, 0, cursor.at, PFD_CORRUPT_DATA,
                                    "%" PRId64 " bytes follow the fields of the raw row",
                                    from->size - cursor.at);
    for (int64_t i = 0; i < n; i++)
        if (!from->parts[choices[i].output].data)
            return fail_field(from, 0, choices[i].field, err, "is not in the raw row");
    return PFD_OK;
}

/* ---- The blob -------------------------------------------------------------------------------- */

/* Computes the shape of an array from its number of elements. */
static pfd_status set_shape(const pfd_mindrecord_bytes *from, int64_t at,
                            const pfd_mindrecord_choice *choice, int64_t elements, pfd_error *err)
{
    const pfd_mindrecord_field *field = choice->field;
    const pfd_row_type *type = &from->types[choice->output];
    pfd_field_part *part = &from->parts[choice->output];
    int64_t known = 1, varying = -1;
    for (int32_t i = 0; i < field->ndim; i++) {
        part->shape[i] = field->shape[i];
        if (field->shape[i] < 0) varying = i;
        else if (__builtin_mul_overflow(known, field->shape[i], &known)) known = INT64_MAX;
    }
    if (varying >= 0 && elements % known == 0) part->shape[varying] = elements / known;
    else if (varying >= 0 || elements != known)
        return fail_field(from, at, field, err,
                          "has %" PRId64 " elements here, which does not fit its shape", elements);
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] >= 0 && type->shape[i] != part->shape[i])
            return fail_field(from, at, field, err,
                              "has %" PRId64 " along dimension %d, but the output %" PRId64,
                              part->shape[i], i, type->shape[i]);
    return PFD_OK;
}

static int64_t load_big_endian(const uint8_t *at, int32_t bytes)
{
    uint64_t value = pfd_load_be(at, bytes);
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* A little-endian signed integer of 1, 2, 4 or 8 bytes. */
static int64_t load_signed(const uint8_t *at, int32_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, (size_t)bytes);
    int32_t unused = 64 - 8 * bytes;
    return (int64_t)(value << unused) >> unused;
}

/* Unpacks integers of 1, 2, 4 or 8 bytes each into those of the field.  Returns 0 if they do not
 * end where the bytes end. */
static int32_t unpack(const uint8_t *codes, const uint8_t *at, const uint8_t *end, int64_t n,
                      int32_t is_wide, void *out)
{
    int32_t *narrow = out;
    int64_t *wide = out;
    for (int64_t i = 0; i < n; i++) {
        int32_t bytes = 1 << (codes[i / 4] >> (6 - 2 * (i % 4)) & 3);
        if (end - at < bytes) return 0;
        int64_t value = load_signed(at, bytes);
        if (is_wide) wide[i] = value;
        else if (value < INT32_MIN || value > INT32_MAX) return 0;
        else narrow[i] = (int32_t)value;
        at += bytes;
    }
    return at == end;
}

/* Reads a number n (uint32, big-endian), n codes of 2 bits each from the highest bits on, and n
 * values. */
static pfd_status read_packed(const pfd_mindrecord_bytes *from, const pfd_mindrecord_choice *choice,
                              int64_t at, int64_t size, pfd_error *err)
{
    const uint8_t *data = from->data + at;
    int32_t is_wide = choice->field->type == PFD_INT64;
    int64_t item = is_wide ? 8 : 4, n = size >= 4 ? load_big_endian(data, 4) : 0;
    int64_t codes = (n + 3) / 4;
    if (size < 4 + codes + n)
        return fail_field(from, at, choice->field, err,
                          "counts %" PRId64 " integers, but has %" PRId64 " bytes", n, size);
    PFD_TRY(set_shape(from, at, choice, n, err));
    void *values = from->host->alloc(from->scratch, n * item);
    if (!values) return from->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for an array");
    if (!unpack(data + 4, data + 4 + codes, data + size, n, is_wide, values))
        return fail_field(from, at, choice->field, err,
                          "has packed integers that do not fit into its %" PRId64
                          " bytes, or into its type",
                          size);
    from->parts[choice->output].data = values;
    from->parts[choice->output].size = n * item;
    return PFD_OK;
}

static pfd_status read_blob_field(const pfd_mindrecord_bytes *from,
                                  const pfd_mindrecord_choice *choice, int64_t at, int64_t size,
                                  pfd_error *err)
{
    const pfd_mindrecord_field *field = choice->field;
    pfd_field_part *part = &from->parts[choice->output];
    if (!field->is_array) return set_bytes(from, at, choice, from->data + at, size, err);
    int32_t is_integer = field->type == PFD_INT32 || field->type == PFD_INT64;
    if (is_integer && from->header->packs_integers)
        return read_packed(from, choice, at, size, err);
    int64_t item = pfd_dtype_size(field->type);
    if (size % item)
        return fail_field(from, at, field, err,
                          "has %" PRId64 " bytes, which is not a whole number of elements", size);
    part->data = from->data + at;
    part->size = size;
    return set_shape(from, at, choice, size / item, err);
}

pfd_status pfd_mindrecord_read_blob(const pfd_mindrecord_bytes *from,
                                    const pfd_mindrecord_choice *choices, int64_t n, pfd_error *err)
{
    int64_t num_blobs = from->header->num_blobs, k = 0, at = 0;
    for (int64_t i = 0; i < num_blobs; i++) {
        int64_t size = from->size;
        if (num_blobs > 1) {
            size = from->size - at >= 8 ? load_big_endian(from->data + at, 8) : INT64_MAX;
            at += 8;
        }
        if (size > from->size - at)
            return from->host->fail_row(err, 0, at < from->size ? at : from->size, PFD_CORRUPT_DATA,
                                        "part %" PRId64 " goes past the end of the blob, which has "
                                        "%" PRId64 " bytes",
                                        i, from->size);
        for (; k < n && choices[k].field->blob == i; k++)
            PFD_TRY(read_blob_field(from, &choices[k], at, size, err));
        at += size;
    }
    if (at == from->size) return PFD_OK;
    return from->host->fail_row(err, 0, at, PFD_CORRUPT_DATA,
                                "%" PRId64 " bytes follow the fields of the blob",
                                from->size - at);
}
