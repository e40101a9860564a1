/* Decodes messages of tf.train.Features, with or without lists of steps. */
#include "formats/tfrecord/feature_decoder.h"

#include "core/convert.h"
#include "core/error.h"
#include "core/narrow_floats.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "parse/wire.h"
#include "parse/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- Values of a Feature --------------------------------------------------------------------- */

/*     Feature { oneof kind { BytesList = 1 | FloatList = 2 | Int64List = 3 } }
 *     BytesList { repeated bytes value = 1 }   FloatList, Int64List { repeated value = 1, packed }
 *
 * Messages are read as the protobuf library reads them: numbers may be packed or not, a message in
 * several pieces is merged, the last of several kinds counts, unknown fields are skipped.
 *
 * OWNERSHIP  Results point into the record, or into the scratch of the call.
 * THREADS    A call belongs to one thread. */

#define FEATURE_NONE 0 /* no kind: treated as a missing feature */
#define FEATURE_BYTES 1
#define FEATURE_FLOAT 2
#define FEATURE_INT64 3
/* The field `value` of a list: packed numbers, or a byte string. */
#define FEATURE_VALUE PFD_WIRE_TAG(1, PFD_WIRE_BYTES)

/* One row of an op's compute(). */
typedef struct feature_call {
    const pfd_compute_args *args;
    pfd_error *err;
    int64_t row;
    const pfd_feature_message *message;
} feature_call;

typedef struct feature_list {
    int32_t kind;
    int32_t is_plain; /* `values` is packed numbers or a byte string; 0: the list's fields */
    pfd_wire_cursor values;
} feature_list;

/* Fails with PFD_CORRUPT_DATA for the row; `at` is a place in the record, or NULL. */
__attribute__((format(printf, 3, 4))) static pfd_status
feature_fail(const feature_call *call, const uint8_t *at, const char *format, ...)
{
    char message[800];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(message, sizeof message, format, list);
    va_end(list);
    /* Merged bytes, and bytes that another op made, have no place in the record. */
    return call->args->host->fail_row(call->err, call->row,
                                      pfd_place_in_record(call->args, call->row, at),
                                      PFD_CORRUPT_DATA, "%s", message);
}

/* Fails in the same way because the bytes are not the message. */
static pfd_status feature_damaged(const feature_call *call, const uint8_t *at)
{
    pfd_bytes row = pfd_row_bytes(call->args->inputs[0], call->row);
    uintptr_t place = (uintptr_t)at - (uintptr_t)row.data;
    if (!at || place > (uintptr_t)row.size)
        return feature_fail(call, at, "the record is not a %s", call->message->name);
    return feature_fail(call, at,
                        "the record is not a %s: the field at byte %" PRId64 " of its %" PRId64
                        " is damaged or truncated",
                        call->message->name, (int64_t)place, row.size);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Adds up the sizes of all fields of a message that have this tag. */
static pfd_status measure(const feature_call *call, pfd_wire_cursor message, uint32_t tag,
                          int64_t *size)
{
    *size = 0;
    while (message.at < message.end) {
        pfd_wire_cursor content;
        uint32_t found = pfd_wire_tag(&message);
        if (found == tag) {
            if (!pfd_wire_bytes(&message, &content)) return feature_damaged(call, message.at);
            *size += content.end - content.at;
        } else if (!found || !pfd_wire_skip(&message, found)) {
            return feature_damaged(call, message.at);
        }
    }
    return PFD_OK;
}

/* Joins the contents of all fields of a message that have this tag, which merges a message in
 * several pieces. */
static pfd_status feature_gather(const feature_call *call, pfd_wire_cursor message, uint32_t tag,
                                 pfd_wire_cursor *out)
{
    int64_t size;
    PFD_TRY(measure(call, message, tag, &size));
    uint8_t *to = call->args->host->alloc(call->args->scratch, size > 0 ? size : 1);
    if (!to)
        return call->args->host->fail(call->err, PFD_OUT_OF_MEMORY, "no memory for a feature");
    out->at = to;
    while (message.at < message.end) {
        pfd_wire_cursor content = message;
        uint32_t found = pfd_wire_tag(&message);
        if (found != tag) {
            (void)pfd_wire_skip(&message, found);
            continue;
        }
        (void)pfd_wire_bytes(&message, &content);
        memcpy(to, content.at, (size_t)(content.end - content.at));
        to += content.end - content.at;
    }
    out->end = to;
    return PFD_OK;
}

/* The last field of a known kind states the kind of the list.  The fields of this kind directly
 * before it are pieces of the same list. */
static pfd_status merge_list(const feature_call *call, pfd_wire_cursor feature, feature_list *out)
{
    pfd_wire_cursor all = feature, from = feature;
    *out = (feature_list){FEATURE_NONE, 0, {feature.end, feature.end}};
    while (all.at < all.end) {
        const uint8_t *begin = all.at;
        uint32_t tag = pfd_wire_tag(&all), kind = PFD_WIRE_FIELD(tag);
        if (!tag || !pfd_wire_skip(&all, tag)) return feature_damaged(call, all.at);
        if (PFD_WIRE_TYPE(tag) != PFD_WIRE_BYTES || kind > FEATURE_INT64) continue;
        if ((int32_t)kind != out->kind) from.at = begin;
        out->kind = (int32_t)kind;
    }
    if (out->kind == FEATURE_NONE) return PFD_OK;
    return feature_gather(call, from, PFD_WIRE_TAG(out->kind, PFD_WIRE_BYTES), &out->values);
}

/* Returns where the content of a message's only field begins.  The field has the type
 * PFD_WIRE_BYTES and ends with the message.  NULL: the message has another form. */
static inline const uint8_t *feature_only_content(const uint8_t *at, const uint8_t *end,
                                                  uint32_t *tag)
{
    uint64_t size;
    if (end - at < 3 || at[0] >= 0x80 || PFD_WIRE_TYPE(at[0]) != PFD_WIRE_BYTES) return NULL;
    *tag = at[0];
    if (at[1] < 0x80) {
        size = at[1];
        at += 2;
    } else if (at[2] < 0x80) {
        size = (uint64_t)at[1] - 0x80 + ((uint64_t)at[2] << 7);
        at += 3;
    } else {
        at = pfd_wire_long_varint(at + 1, end, &size);
        if (!at) return NULL;
    }
    return size == (uint64_t)(end - at) ? at : NULL;
}

/* Finds the list in the bytes of a Feature, in any form that the protobuf library reads. */
static pfd_status feature_list_merge(const feature_call *call, pfd_wire_cursor feature,
                                     feature_list *out)
{
    uint32_t tag = 0;
    PFD_TRY(merge_list(call, feature, out));
    const uint8_t *values = feature_only_content(out->values.at, out->values.end, &tag);
    out->is_plain = values && tag == FEATURE_VALUE;
    if (out->is_plain) out->values.at = values;
    return PFD_OK;
}

/* A walk over the runs of packed values of a list. */
typedef struct list_walk {
    pfd_wire_cursor fields; /* the remaining fields of the list */
    uint32_t single;         /* the tag of a value that is not packed */
} list_walk;

static list_walk begin_walk(const feature_list *list, pfd_wire_cursor *run)
{
    static const uint32_t single[] = {0, 0, PFD_WIRE_FIXED32, PFD_WIRE_VARINT};
    list_walk walk = {list->values, PFD_WIRE_TAG(1, single[list->kind])};
    *run = list->values;
    if (list->is_plain)
        walk.fields.at = walk.fields.end;
    else
        run->end = run->at;
    return walk;
}

/* Finds the next run; at the end it is empty.  Returns 0 if there is damage at walk->fields.at. */
static int32_t next_run(list_walk *walk, pfd_wire_cursor *run)
{
    while (walk->fields.at < walk->fields.end) {
        uint32_t tag = pfd_wire_tag(&walk->fields);
        if (tag == FEATURE_VALUE) {
            if (!pfd_wire_bytes(&walk->fields, run)) return 0;
            if (run->at < run->end) return 1;
            continue;
        }
        run->at = walk->fields.at;
        if (!tag || !pfd_wire_skip(&walk->fields, tag)) return 0;
        run->end = walk->fields.at;
        if (tag == walk->single) return 1;
    }
    run->at = run->end;
    return 1;
}

/* Counts the values of a run; -1 if the last one is truncated. */
static int64_t count_run(int32_t kind, pfd_wire_cursor run)
{
    int64_t size = run.end - run.at, n = 0;
    if (kind == FEATURE_FLOAT) return size % 4 == 0 ? size / 4 : -1;
    if (size > 0 && run.end[-1] >= 0x80) return -1;
    for (int64_t i = 0; i < size; i++) n += run.at[i] < 0x80;
    return n;
}

/* Counts the fields of a message that have this tag. */
static pfd_status count_fields(const feature_call *call, pfd_wire_cursor c, uint32_t tag,
                               int64_t *n)
{
    *n = 0;
    while (c.at < c.end) {
        uint32_t found = pfd_wire_tag(&c);
        if (!found || !pfd_wire_skip(&c, found)) return feature_damaged(call, c.at);
        *n += found == tag;
    }
    return PFD_OK;
}

/* Counts the values of a list. */
static pfd_status feature_list_count(const feature_call *call, const feature_list *list, int64_t *n)
{
    *n = list->kind == FEATURE_BYTES;
    if (list->kind == FEATURE_NONE || (list->kind == FEATURE_BYTES && list->is_plain))
        return PFD_OK;
    if (list->kind == FEATURE_BYTES) return count_fields(call, list->values, FEATURE_VALUE, n);
    pfd_wire_cursor run;
    list_walk walk = begin_walk(list, &run);
    for (*n = 0;;) {
        int64_t some = count_run(list->kind, run);
        if (some < 0) return feature_damaged(call, run.end - 1);
        *n += some;
        if (!next_run(&walk, &run)) return feature_damaged(call, walk.fields.at);
        if (run.at == run.end) return PFD_OK;
    }
}

/* Finds the first byte string of a list that has at least one. */
static pfd_status feature_list_string(const feature_call *call, const feature_list *list,
                                      pfd_wire_cursor *out)
{
    pfd_wire_cursor c = list->values;
    *out = c;
    if (list->is_plain) return PFD_OK;
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        if (tag == FEATURE_VALUE && pfd_wire_bytes(&c, out)) return PFD_OK;
        if (tag == FEATURE_VALUE || !tag || !pfd_wire_skip(&c, tag)) break;
    }
    return feature_damaged(call, c.at);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static void store_floats(const uint8_t *in, int64_t n, int32_t dtype, uint8_t *out)
{
    if (dtype == PFD_FLOAT32) {
        memcpy(out, in, (size_t)n * 4);
        return;
    }
    double *wide = (void *)out;
    for (int64_t i = 0; i < n; i++) {
        float value;
        memcpy(&value, in + 4 * i, sizeof value);
        wide[i] = (double)value;
    }
}

static pfd_status read_floats(const feature_call *call, const feature_list *list, int64_t n,
                              int32_t dtype, uint8_t *out)
{
    pfd_wire_cursor run;
    list_walk walk = begin_walk(list, &run);
    while (n > 0) {
        int64_t some = (run.end - run.at) / 4;
        if (some > n) some = n;
        store_floats(run.at, some, dtype, out);
        out += some * (dtype == PFD_FLOAT32 ? 4 : 8);
        n -= some;
        if (n > 0 && (!next_run(&walk, &run) || run.at == run.end))
            return feature_damaged(call, walk.fields.at);
    }
    return PFD_OK;
}

enum { ints_at_once = 64 };

/* Does what pfd_convert_stored() does, with loops for the usual dtypes: for a few numbers that call
 * takes longer than everything else. */
static inline int64_t store_ints(const int64_t *in, int64_t n, int32_t dtype, void *out)
{
    int32_t *to = out, is_outside = dtype != PFD_INT32;
    for (int64_t i = 0; i < n && dtype == PFD_INT32; i++) {
        to[i] = (int32_t)in[i];
        is_outside |= to[i] != in[i];
    }
    return is_outside ? pfd_convert_stored(PFD_INT64, in, dtype, out, n) : n;
}

/* A fast path for a list of one number: returns 1 and writes it to *out as dtype.  Returns 0 if the
 * list has another form; read it with the functions below. */
static int32_t feature_list_one(const feature_list *list, int32_t dtype, void *out)
{
    pfd_wire_cursor c = list->values;
    uint64_t number = 0;
    if (!list->is_plain || !pfd_wire_varint(&c, &number) || c.at < c.end) return 0;
    int64_t value = (int64_t)number;
    if (dtype != PFD_INT64) return store_ints(&value, 1, dtype, out) == 1;
    memcpy(out, &value, sizeof value);
    return 1;
}

static pfd_status fail_range(const feature_call *call, int64_t number, int32_t dtype,
                             const uint8_t *at, const char *key, int64_t key_size)
{
    char name[256];
    return feature_fail(call, at, "feature %s: %" PRId64 " is not a %s",
                        pfd_quote_bytes((const uint8_t *)key, key_size, name, sizeof name), number,
                        pfd_dtype_name(dtype));
}

static pfd_status read_ints(const feature_call *call, const feature_list *list, int64_t n,
                            int32_t dtype, uint8_t *out, const char *key, int64_t key_size)
{
    int64_t element_bytes = pfd_dtype_size(dtype), numbers[ints_at_once];
    pfd_wire_cursor run;
    list_walk walk = begin_walk(list, &run);
    while (n > 0) {
        const uint8_t *begin = run.at;
        int64_t some = 0, most = n < ints_at_once ? n : ints_at_once;
        for (; some < most && run.at < run.end; some++) {
            uint64_t number;
            if (!pfd_wire_varint(&run, &number)) return feature_damaged(call, run.at);
            numbers[some] = (int64_t)number;
        }
        int64_t fitting = store_ints(numbers, some, dtype, out);
        if (fitting < some)
            return fail_range(call, numbers[fitting], dtype, begin, key, key_size);
        out += some * element_bytes;
        n -= some;
        if (n > 0 && run.at == run.end && (!next_run(&walk, &run) || run.at == run.end))
            return feature_damaged(call, walk.fields.at);
    }
    return PFD_OK;
}

/* Reads the first n values of a list of at least n numbers, as dtype: PFD_FLOAT32 and
 * PFD_FLOAT64 from floats, bool and the integers from int64.  A number outside the range of
 * dtype is PFD_CORRUPT_DATA; `key` of key_size bytes is the name of the feature. */
static pfd_status feature_list_read(const feature_call *call, const feature_list *list, int64_t n,
                                    int32_t dtype, void *out, const char *key, int64_t key_size)
{
    if (list->kind == FEATURE_FLOAT) return read_floats(call, list, n, dtype, out);
    return read_ints(call, list, n, dtype, out, key, key_size);
}

/* ---- Fields of a decoder --------------------------------------------------------------------- */

/* The field of an output is a field (parse/row_type.h) with a type.  Floats read a float_list,
 * bool and integers an int64_list, "bytes" a bytes_list of one value.  A raw field reads numbers of
 * the dtype, little-endian, from the bytes of a bytes_list of one value. */

typedef struct feature_spec {
    pfd_field_spec field; /* without FEATURE_LISTS in its key */
    const char *element;  /* as the user wrote it */
    int32_t kind;         /* PFD_FEATURE_*: the list that is read */
    int32_t is_raw;       /* a byte string is read as numbers */
    int32_t is_bytes;     /* the row is a byte string */
    int32_t is_steps;     /* a list of steps: the first dimension counts them */
    int32_t is_ragged;
    int64_t count;         /* values of a row or step: the product of the fixed dimensions */
    int64_t element_bytes; /* of a value */
    const uint8_t *fill;   /* `count` values of the default, or zeros; NULL if the row is ragged */
} feature_spec;

#define FEATURE_LISTS "feature_lists/" /* begins the key of a list of steps */

enum { most_values = INT32_MAX }; /* of a row whose shape is fixed */

static pfd_status refuse(const pfd_host *host, const feature_spec *spec, const char *why,
                         pfd_error *err)
{
    char element[256];
    return host->fail_attr(err, "features", NULL, PFD_INVALID_ARGUMENT, ": %s in the field %s", why,
        pfd_quote_bytes((const uint8_t *)spec->element, (int64_t)strlen(spec->element), element,
                        sizeof element));
}

static int is_name(const feature_spec *spec, const char *name)
{
    size_t size = strlen(name);
    return size == (size_t)spec->field.name_size && !memcmp(name, spec->field.name, size);
}

/* ---- Defaults -------------------------------------------------------------------------------- */

static int parse_integer(const char *text, int64_t size, int64_t *value)
{
    int negative = size > 0 && text[0] == '-';
    uint64_t sum = 0, limit = (uint64_t)INT64_MAX + (uint64_t)negative;
    if (size == negative || size > 20) return 0;
    for (int64_t i = negative; i < size; i++) {
        uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';
        if (digit > 9 || sum > (limit - digit) / 10) return 0;
        sum = 10 * sum + digit;
    }
    *value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return 1;
}

static int is_text(const char *text, int64_t size, const char *expected)
{
    return size == (int64_t)strlen(expected) && !memcmp(text, expected, (size_t)size);
}

/* Parses one value of a default as dtype.  Returns 0 if the text is not a value of it. */
static int parse_value(const pfd_host *host, const char *text, int64_t size, int32_t dtype,
                       uint8_t *out)
{
    int64_t number;
    double real;
    if (dtype == PFD_FLOAT32 || dtype == PFD_FLOAT64) {
        if (size == 0 || host->parse_double(text, size, &real) != size) return 0;
        return pfd_convert_stored(PFD_FLOAT64, &real, dtype, out, 1) == 1;
    }
    if (dtype == PFD_BOOL && (is_text(text, size, "true") || is_text(text, size, "false"))) {
        *out = text[0] == 't';
        return 1;
    }
    return parse_integer(text, size, &number) &&
           pfd_convert_stored(PFD_INT64, &number, dtype, out, 1) == 1;
}

/* Parses the values of the default: one for all, or as many as the row has.  If `out` is NULL, only
 * checks them. */
static pfd_status parse_default(const pfd_host *host, const feature_spec *spec, uint8_t *out,
                                pfd_error *err)
{
    const char *at = spec->field.default_text, *end = at + spec->field.default_size;
    _Alignas(8) uint8_t value[8];
    int64_t n = 0;
    for (; at <= end; n++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if (n == spec->count || !parse_value(host, at, stop - at, spec->field.type.dtype, value))
            break;
        if (out) memcpy(out + n * spec->element_bytes, value, (size_t)spec->element_bytes);
        at = stop + 1;
    }
    if (at <= end || (n != spec->count && n != 1))
        return refuse(host, spec,
                      "the default must be numbers of the dtype, separated by commas, as many as "
                      "the shape has or one for all of them,",
                      err);
    for (; out && n < spec->count; n++)
        memcpy(out + n * spec->element_bytes, value, (size_t)spec->element_bytes);
    return PFD_OK;
}

/* ---- Types ----------------------------------------------------------------------------------- */

static pfd_status read_type(const pfd_host *host, feature_spec *spec, pfd_error *err)
{
    const pfd_row_type *type = &spec->field.type;
    int32_t is_float = pfd_dtype_is_float(type->dtype), varying = 0;
    if (!spec->field.has_type) return refuse(host, spec, "a type is missing", err);
    if (pfd_is_narrow_float(type->dtype) && !spec->is_raw)
        return refuse(host, spec,
                      "the dtype is a float of 16 bits, which no list of numbers has (use float32, "
                      "or name the field in 'decode_raw' if its bytes are such numbers),",
                      err);
    spec->kind = spec->is_raw || spec->is_bytes ? FEATURE_BYTES
                 : is_float                     ? FEATURE_FLOAT
                                                : FEATURE_INT64;
    spec->element_bytes = pfd_dtype_size(type->dtype);
    spec->count = 1;
    for (int32_t i = 0; i < type->ndim; i++) {
        int64_t size = type->shape[i];
        varying += size < 0;
        if (size < 0 || (i == 0 && spec->is_steps)) continue;
        if (size > 0 && spec->count > most_values / size)
            return refuse(host, spec, "the shape has more than 2^31 values", err);
        spec->count *= size;
    }
    if (varying > 1 || (spec->is_steps && varying && type->shape[0] >= 0))
        return refuse(host, spec, spec->is_steps ? "only the first dimension, which counts the "
                                                   "steps, may vary,"
                                                 : "more than one dimension varies", err);
    spec->is_ragged = varying > 0;
    if (spec->is_ragged && spec->count == 0)
        return refuse(host, spec, "a dimension varies and another one is 0", err);
    return PFD_OK;
}

/* Removes the prefix from the key of a list of steps, and checks its type. */
static pfd_status read_steps(const pfd_host *host, feature_spec *spec, pfd_error *err)
{
    static const int64_t prefix = sizeof FEATURE_LISTS - 1;
    pfd_field_spec *field = &spec->field;
    if (field->key_size < prefix || memcmp(field->key, FEATURE_LISTS, (size_t)prefix) != 0)
        return PFD_OK;
    spec->is_steps = 1;
    field->key += prefix;
    field->key_size -= prefix;
    if (field->key_size == 0)
        return refuse(host, spec, "a key is missing after '" FEATURE_LISTS "'", err);
    if (spec->is_bytes)
        return refuse(host, spec,
                      "the steps are byte strings, but a row can have only one (name the field in "
                      "'decode_raw' if they all have the same size),",
                      err);
    if (field->has_type && field->type.ndim == 0)
        return refuse(host, spec,
                      "the shape of a list of steps must begin with their number, or with '?',",
                      err);
    if (field->default_text && (field->default_size > 0 || field->type.shape[0] >= 0))
        return refuse(host, spec,
                      "the default of a list of steps must be empty, which means no steps, and "
                      "their number must vary,",
                      err);
    return PFD_OK;
}

static pfd_status read_spec(const pfd_host *host, const pfd_feature_attrs *attrs,
                            const pfd_feature_message *message, int64_t i, feature_spec *out,
                            pfd_error *err)
{
    const char *element = attrs->features.data[i];
    *out = (feature_spec){.element = element};
    PFD_TRY(pfd_field_spec_parse(host, "features", element, &out->field, err));
    for (int64_t k = 0; k < attrs->decode_raw.size && !out->is_raw; k++)
        out->is_raw = is_name(out, attrs->decode_raw.data[k]);
    out->is_bytes = !strncmp(out->field.key + out->field.key_size, ":bytes", 6);
    if (out->is_bytes && out->is_raw)
        return refuse(host, out, "'decode_raw' reads bytes as numbers, but the type is bytes",
                      err);
    if (message->has_lists) PFD_TRY(read_steps(host, out, err));
    PFD_TRY(read_type(host, out, err));
    if (!out->field.default_text || out->is_bytes || out->is_steps) return PFD_OK;
    if (out->is_ragged)
        return refuse(host, out,
                      "there is a default, and the number of values varies: a missing feature is "
                      "an empty row,",
                      err);
    if (pfd_is_narrow_float(out->field.type.dtype))
        return refuse(host, out, "there is a default, which floats of 16 bits cannot have,", err);
    return parse_default(host, out, NULL, err);
}

static pfd_status check_decode_raw(const pfd_infer_args *args, const pfd_feature_message *message,
                                   pfd_error *err)
{
    const pfd_feature_attrs *attrs = args->attrs;
    for (int64_t k = 0; k < attrs->decode_raw.size; k++) {
        const char *name = attrs->decode_raw.data[k];
        int32_t known = 0;
        for (int64_t i = 0; i < attrs->features.size && !known; i++) {
            feature_spec spec;
            PFD_TRY(read_spec(args->host, attrs, message, i, &spec, err));
            known = is_name(&spec, name);
        }
        if (!known)
            return args->host->fail_attr(err, "decode_raw", NULL, PFD_INVALID_ARGUMENT,
                                         ": no field in 'features' has the name '%s'", name);
    }
    return PFD_OK;
}

pfd_status pfd_feature_specs_infer(const pfd_infer_args *args, const pfd_feature_message *message,
                                   pfd_error *err)
{
    const pfd_feature_attrs *attrs = args->attrs;
    PFD_TRY(pfd_expect_bytes(args, err));
    for (int64_t i = 0; i < args->num_outputs; i++) {
        feature_spec spec;
        PFD_TRY(read_spec(args->host, attrs, message, i, &spec, err));
        args->outputs[i] = spec.field.type;
    }
    return check_decode_raw(args, message, err);
}

static pfd_status make_fill(const pfd_compute_args *args, feature_spec *spec, pfd_error *err)
{
    int64_t bytes = spec->count * spec->element_bytes;
    if (spec->is_ragged) return PFD_OK;
    uint8_t *fill = args->host->alloc(args->scratch, bytes > 0 ? bytes : 1);
    if (!fill) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a default");
    spec->fill = fill;
    memset(fill, 0, (size_t)bytes);
    if (!spec->field.default_text || spec->is_steps) return PFD_OK;
    return parse_default(args->host, spec, fill, err);
}

/* Makes all fields, in the scratch of a call. */
static pfd_status feature_specs_make(const pfd_compute_args *args,
                                     const pfd_feature_message *message, feature_spec **out,
                                     pfd_error *err)
{
    const pfd_feature_attrs *attrs = args->attrs;
    int64_t n = args->num_outputs;
    feature_spec *specs = args->host->alloc(args->scratch, n * (int64_t)sizeof *specs);
    if (!specs) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the fields");
    for (int64_t i = 0; i < n; i++) {
        PFD_TRY(read_spec(args->host, attrs, message, i, &specs[i], err));
        PFD_TRY(make_fill(args, &specs[i], err));
    }
    *out = specs;
    return PFD_OK;
}

/* ---- The wanted features in a map of features ------------------------------------------------ */

/* A map is one of these messages:
 *
 *     Features     { map<string, Feature> feature = 1 }
 *     FeatureLists { map<string, FeatureList> feature_list = 1 }
 *
 * Most records have their keys in the same order as the record before.  So a key is first compared
 * with the key at the same place in the last record.
 *
 * OWNERSHIP  The specs are borrowed; everything else is in the scratch of the call. */

#define FEATURE_MAP_PLACES 64 /* most keys of the last record that are kept */

typedef struct feature_place {
    const uint8_t *key;
    int64_t key_size; /* -1: no record had a key here */
    int64_t first;    /* the first spec with this key; -1: none */
} feature_place;

typedef struct feature_map {
    const feature_spec *specs;
    int64_t num_specs;
    int64_t *next;          /* the next spec with the same key, or -1 */
    pfd_wire_cursor *found; /* the bytes of the value of each spec; `at` is NULL if there is none */
    int64_t *slots;         /* a table of first specs by the hash of their key; -1: empty */
    uint64_t slot_mask;
    int64_t place; /* of the next entry of the record */
    feature_place places[FEATURE_MAP_PLACES];
} feature_map;

static const uint32_t entry_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);
static const uint32_t key_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);
static const uint32_t value_tag = PFD_WIRE_TAG(2, PFD_WIRE_BYTES);

static uint64_t hash_key(const uint8_t *key, int64_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < size; i++) hash = (hash ^ key[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static int is_key(const feature_spec *spec, const uint8_t *key, int64_t size)
{
    return spec->field.key_size == size && !memcmp(spec->field.key, key, (size_t)size);
}

/* The slot of a key, or the empty slot where it would be. */
static int64_t *find_slot(const feature_map *map, const uint8_t *key, int64_t size)
{
    uint64_t at = hash_key(key, size) & map->slot_mask;
    while (map->slots[at] >= 0 && !is_key(&map->specs[map->slots[at]], key, size))
        at = (at + 1) & map->slot_mask;
    return &map->slots[at];
}

/* Makes a map of the specs whose is_steps is `steps`. */
static pfd_status feature_map_make(const pfd_compute_args *args, const feature_spec *specs,
                                   int32_t steps, feature_map **out, pfd_error *err)
{
    const pfd_host *host = args->host;
    int64_t n = args->num_outputs, num_slots = 4;
    while (num_slots < 2 * n) num_slots *= 2;
    feature_map *map = host->alloc(args->scratch, (int64_t)sizeof *map);
    int64_t *next = host->alloc(args->scratch, n * (int64_t)sizeof *next);
    pfd_wire_cursor *found = host->alloc(args->scratch, n * (int64_t)sizeof *found);
    int64_t *slots = host->alloc(args->scratch, num_slots * (int64_t)sizeof *slots);
    if (!map || !next || !found || !slots)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the table of keys");
    map->specs = specs;
    map->num_specs = n;
    map->next = next;
    map->found = found;
    map->slots = slots;
    map->slot_mask = (uint64_t)num_slots - 1;
    for (int64_t i = 0; i < num_slots; i++) slots[i] = -1;
    for (int64_t i = 0; i < FEATURE_MAP_PLACES; i++) map->places[i].key_size = -1;
    for (int64_t i = n - 1; i >= 0; i--) {
        found[i] = (pfd_wire_cursor){NULL, NULL};
        if (specs[i].is_steps != steps) continue;
        int64_t *slot =
            find_slot(map, (const uint8_t *)specs[i].field.key, specs[i].field.key_size);
        next[i] = *slot;
        *slot = i;
    }
    *out = map;
    return PFD_OK;
}

/* Compares short keys: a call of memcmp() alone would take as long. */
static inline int is_same(const uint8_t *a, const uint8_t *b, int64_t size)
{
    uint64_t x, y;
    if (size > 16) return !memcmp(a, b, (size_t)size);
    if (size < 8) {
        for (int64_t i = 0; i < size; i++)
            if (a[i] != b[i]) return 0;
        return 1;
    }
    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    if (x != y) return 0;
    memcpy(&x, a + size - 8, 8);
    memcpy(&y, b + size - 8, 8);
    return x == y;
}

/* The first spec with a key, or -1. */
static inline int64_t find_spec(feature_map *map, const uint8_t *key, int64_t size)
{
    feature_place any, *place = &any;
    if (map->place < FEATURE_MAP_PLACES) {
        place = &map->places[map->place++];
        if (place->key_size == size && is_same(place->key, key, size)) return place->first;
    }
    *place = (feature_place){key, size, *find_slot(map, key, size)};
    return place->first;
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* Sets the value of spec `first` and of all specs with its key; -1: sets nothing. */
static inline void keep(feature_map *map, int64_t first, pfd_wire_cursor value)
{
    for (int64_t i = first; i >= 0; i = map->next[i]) map->found[i] = value;
}

/* Reads an entry in any form: with fields in any order, missing, repeated or unknown.  The last key
 * counts, and values are merged. */
static pfd_status walk_entry(const feature_call *call, feature_map *map, pfd_wire_cursor entry)
{
    pfd_wire_cursor c = entry, key = {entry.end, entry.end}, value = {entry.end, entry.end};
    int32_t values = 0;
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        pfd_wire_cursor content;
        if (tag != key_tag && tag != value_tag) {
            if (!tag || !pfd_wire_skip(&c, tag)) return feature_damaged(call, c.at);
            continue;
        }
        if (!pfd_wire_bytes(&c, &content)) return feature_damaged(call, c.at);
        values += tag == value_tag;
        *(tag == key_tag ? &key : &value) = content;
    }
    int64_t first = find_spec(map, key.at, key.end - key.at);
    if (first >= 0 && values > 1) PFD_TRY(feature_gather(call, entry, value_tag, &value));
    keep(map, first, value);
    return PFD_OK;
}

/* A fast path for a field with a tag of one byte and a size of one or two.  Returns where its
 * content begins; it ends at or before `end`.  NULL: the field has another tag or form. */
static inline const uint8_t *enter(const uint8_t *at, const uint8_t *end, uint32_t tag,
                                   int64_t *size)
{
    if (end - at < 2 || at[0] != tag) return NULL;
    if (at[1] < 0x80) {
        *size = at[1];
        at += 2;
    } else {
        if (end - at < 3 || at[2] >= 0x80) return NULL;
        *size = at[1] - 0x80 + ((int64_t)at[2] << 7);
        at += 3;
    }
    return *size <= end - at ? at : NULL;
}

/* Reads an entry of only a key and a value, as nearly all entries are. Returns where it ends; NULL:
 * the entry has another form. */
static inline const uint8_t *walk_simple_entry(feature_map *map, const uint8_t *at,
                                               const uint8_t *end)
{
    int64_t size, key_size, value_size;
    const uint8_t *entry = enter(at, end, entry_tag, &size);
    if (!entry) return NULL;
    end = entry + size;
    const uint8_t *key = enter(entry, end, key_tag, &key_size);
    if (!key) return NULL;
    const uint8_t *value = enter(key + key_size, end, value_tag, &value_size);
    if (!value || value + value_size != end) return NULL;
    keep(map, find_spec(map, key, key_size), (pfd_wire_cursor){value, end});
    return end;
}

/* Finds the wanted features in the bytes of a map, or of a piece of one; the last of equal keys
 * counts. */
static pfd_status feature_map_walk(const feature_call *call, feature_map *map,
                                   pfd_wire_cursor message)
{
    const uint8_t *at = message.at, *end = message.end;
    while (at < end) {
        const uint8_t *next = walk_simple_entry(map, at, end);
        if (!next) {
            pfd_wire_cursor c = {at, end}, entry = c;
            uint32_t tag = pfd_wire_tag(&c);
            if (tag == entry_tag ? !pfd_wire_bytes(&c, &entry) : !tag || !pfd_wire_skip(&c, tag))
                return feature_damaged(call, c.at);
            PFD_TRY(tag == entry_tag ? walk_entry(call, map, entry) : PFD_OK);
            next = c.at;
        }
        at = next;
    }
    return PFD_OK;
}

/* ---- A Feature, or a list of steps, as the dense or ragged row of an output ------------------ */

static const char *const kind_names[] = {"nothing", "a bytes_list", "a float_list",
                                         "an int64_list"};
static const uint32_t step_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);

static const char *quote_key(const feature_spec *spec, char *out, size_t capacity)
{
    return pfd_quote_bytes((const uint8_t *)spec->field.key, spec->field.key_size, out, capacity);
}

static pfd_status fail_memory(const feature_call *call)
{
    return call->args->host->fail(call->err, PFD_OUT_OF_MEMORY, "no memory for a row");
}

/* Fails because a feature does not fit its field, which the attr `features` states.  The message is
 * "feature 'x'" and the text. */
__attribute__((format(printf, 4, 5))) static pfd_status fail_feature(const feature_call *call,
                                                                     const feature_spec *spec,
                                                                     const uint8_t *at,
                                                                     const char *format, ...)
{
    char key[256], text[500];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)feature_fail(call, at, "feature %s%s", quote_key(spec, key, sizeof key), text);
    return pfd_error_set_attr(call->err, "features");
}

static pfd_status fail_missing(const feature_call *call, const feature_spec *spec)
{
    char key[256];
    if (!spec->is_steps)
        return fail_feature(call, spec, NULL, " is missing, and the field '%.200s' has no default",
                            spec->element);
    (void)feature_fail(call, NULL,
                       "feature list %s is missing; the field '%.200s=' would read a missing list "
                       "as no steps",
                       quote_key(spec, key, sizeof key), spec->element);
    return pfd_error_set_attr(call->err, "features");
}

static pfd_status fail_kind(const feature_call *call, const feature_spec *spec,
                            const feature_list *list)
{
    const char *hint = "";
    if (list->kind == FEATURE_BYTES)
        hint = "; 'decode_raw' reads the bytes as numbers, 'bytes' leaves them as they are";
    return fail_feature(call, spec, list->values.at,
                        " holds %s, and the field '%.200s' reads %s%s", kind_names[list->kind],
                        spec->element, kind_names[spec->kind], hint);
}

static pfd_status fail_count(const feature_call *call, const feature_spec *spec, const uint8_t *at,
                             int64_t found, int64_t expected, const char *what)
{
    return fail_feature(call, spec, at,
                        " has %" PRId64 " %s, and the field '%.200s' takes %" PRId64
                        "; see attr 'on_mismatch'",
                        found, what, spec->element, expected);
}

/* Whether on_mismatch allows `found` values in place of `expected` ones. */
static int32_t is_tolerated(int32_t on_mismatch, int64_t found, int64_t expected)
{
    int32_t needed = found < expected ? PFD_MISMATCH_PAD : PFD_MISMATCH_TRUNCATE;
    return found == expected || on_mismatch == PFD_MISMATCH_FIT || on_mismatch == needed;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Finds the only byte string of a list. */
static pfd_status find_string(const feature_call *call, const feature_spec *spec,
                              const feature_list *list, pfd_wire_cursor *out)
{
    int64_t n;
    PFD_TRY(feature_list_count(call, list, &n));
    if (n == 1) return feature_list_string(call, list, out);
    return fail_feature(call, spec, list->values.at,
                        " has %" PRId64 " byte strings; the field '%.200s' takes one", n,
                        spec->element);
}

/* Counts the values; for a raw field it also finds the bytes. */
static pfd_status count_values(const feature_call *call, const feature_spec *spec,
                               const feature_list *list, int64_t *n, pfd_wire_cursor *raw)
{
    if (!spec->is_raw) return feature_list_count(call, list, n);
    PFD_TRY(find_string(call, spec, list, raw));
    int64_t bytes = raw->end - raw->at;
    *n = bytes / spec->element_bytes;
    if (bytes % spec->element_bytes == 0) return PFD_OK;
    return fail_feature(call, spec, raw->at,
                        " has %" PRId64 " bytes, which is not a multiple of the %" PRId64
                        " bytes of a value in the field '%.200s'",
                        bytes, spec->element_bytes, spec->element);
}

static pfd_status copy_raw(const feature_call *call, const feature_spec *spec, const uint8_t *from,
                           int64_t n, uint8_t *to)
{
    char key[256];
    memcpy(to, from, (size_t)(n * spec->element_bytes));
    if (spec->field.type.dtype != PFD_BOOL) return PFD_OK;
    for (int64_t i = 0; i < n; i++)
        if (from[i] > 1)
            return feature_fail(call, from + i, "feature %s: byte %" PRId64 " is %d, not a bool",
                                quote_key(spec, key, sizeof key), i, from[i]);
    return PFD_OK;
}

static pfd_status read_values(const feature_call *call, const feature_spec *spec,
                              const feature_list *list, const pfd_wire_cursor *raw, int64_t n,
                              uint8_t *to)
{
    if (spec->is_raw) return copy_raw(call, spec, raw->at, n, to);
    return feature_list_read(call, list, n, spec->field.type.dtype, to, spec->field.key,
                             spec->field.key_size);
}

/* Writes exactly spec->count values. */
static pfd_status write_fixed(const feature_call *call, const feature_spec *spec,
                              const feature_list *list, int32_t on_mismatch, uint8_t *to)
{
    pfd_wire_cursor raw = list->values;
    int64_t n, bytes = spec->count * spec->element_bytes;
    PFD_TRY(count_values(call, spec, list, &n, &raw));
    if (!is_tolerated(on_mismatch, n, spec->count))
        return fail_count(call, spec, raw.at, n, spec->count, "values");
    if (n > spec->count) n = spec->count;
    int64_t read = n * spec->element_bytes;
    if (read < bytes) memcpy(to + read, spec->fill + read, (size_t)(bytes - read));
    return read_values(call, spec, list, &raw, n, to);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Sets the elements of a ragged row: they stay in the record if possible, else they are copied. */
static pfd_status write_varying(const feature_call *call, const feature_spec *spec,
                                const feature_list *list, pfd_ragged_row *row)
{
    pfd_wire_cursor raw = list->values;
    char key[256];
    int64_t n;
    PFD_TRY(count_values(call, spec, list, &n, &raw));
    if (n % spec->count != 0)
        return feature_fail(call, raw.at,
                            "feature %s has %" PRId64 " values, which is not a multiple of the "
                            "%" PRId64 " that the field '%.200s' takes at once",
                            quote_key(spec, key, sizeof key), n, spec->count, spec->element);
    int32_t dtype = spec->field.type.dtype;
    int32_t as_it_is = spec->is_raw ? dtype != PFD_BOOL : list->is_plain && dtype == PFD_FLOAT32;
    if (as_it_is && (uintptr_t)raw.at % (uintptr_t)spec->element_bytes == 0) {
        *row = (pfd_ragged_row){raw.at, n, NULL};
        return PFD_OK;
    }
    if (n == 0) return PFD_OK;
    uint8_t *to = call->args->host->alloc(call->args->scratch, n * spec->element_bytes);
    if (!to) return fail_memory(call);
    *row = (pfd_ragged_row){to, n, NULL};
    return read_values(call, spec, list, &raw, n, to);
}

static pfd_status write_string(const feature_call *call, const feature_spec *spec,
                               const feature_list *list, pfd_ragged_row *row)
{
    pfd_wire_cursor string;
    pfd_status status = find_string(call, spec, list, &string);
    if (status == PFD_OK) *row = (pfd_ragged_row){string.at, string.end - string.at, NULL};
    return status;
}

static pfd_status write_missing(const feature_call *call, const feature_spec *spec, pfd_tensor *out)
{
    const pfd_field_spec *field = &spec->field;
    if (spec->is_steps ? field->default_text != NULL : spec->is_ragged && !spec->is_bytes)
        return PFD_OK; /* the host gave an empty row */
    if (!field->default_text || spec->is_steps) return fail_missing(call, spec);
    if (spec->is_bytes)
        out->rows[call->row] = (pfd_ragged_row){field->default_text, field->default_size, NULL};
    else
        memcpy(out->data + call->row * out->row_bytes, spec->fill, (size_t)out->row_bytes);
    return PFD_OK;
}

/* Finds the list in the bytes of a Feature.  TensorFlow writes a Feature as one list, of packed
 * values or of one byte string: this form has a fast path. */
static inline pfd_status find_any_list(const feature_call *call, const pfd_wire_cursor *feature,
                                       feature_list *out)
{
    uint32_t tag = 0, list_tag = 0;
    const uint8_t *end = feature->end;
    const uint8_t *list = feature_only_content(feature->at, end, &tag);
    if (!list || tag > PFD_WIRE_TAG(FEATURE_INT64, PFD_WIRE_BYTES) || tag < 8)
        return feature_list_merge(call, *feature, out);
    const uint8_t *values = feature_only_content(list, end, &list_tag);
    out->kind = (int32_t)PFD_WIRE_FIELD(tag);
    out->is_plain = values && list_tag == FEATURE_VALUE;
    out->values.at = out->is_plain ? values : list;
    out->values.end = end;
    return PFD_OK;
}

static pfd_status find_list(const feature_call *call, const feature_spec *spec,
                            const pfd_wire_cursor *feature, feature_list *list)
{
    pfd_status status = find_any_list(call, feature, list);
    if (status != PFD_OK || list->kind == spec->kind || list->kind == FEATURE_NONE) return status;
    return fail_kind(call, spec, list);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Writes the first n steps.  count_fields() checked the bytes before. */
static pfd_status write_each(const feature_call *call, const feature_spec *spec, pfd_wire_cursor c,
                             int64_t n, int32_t on_mismatch, uint8_t *to)
{
    while (n > 0) {
        feature_list list;
        pfd_wire_cursor feature = c;
        uint32_t tag = pfd_wire_tag(&c);
        if (tag != step_tag) {
            (void)pfd_wire_skip(&c, tag);
            continue;
        }
        (void)pfd_wire_bytes(&c, &feature);
        PFD_TRY(find_list(call, spec, &feature, &list));
        if (list.kind == FEATURE_NONE)
            return fail_count(call, spec, feature.at, 0, spec->count, "values in a step");
        PFD_TRY(write_fixed(call, spec, &list, on_mismatch, to));
        to += spec->count * spec->element_bytes;
        n--;
    }
    return PFD_OK;
}

static pfd_status write_steps(const feature_call *call, const feature_spec *spec,
                              pfd_wire_cursor steps, int32_t on_mismatch, pfd_tensor *out)
{
    int64_t n, step_bytes = spec->count * spec->element_bytes;
    PFD_TRY(count_fields(call, steps, step_tag, &n));
    if (!spec->is_ragged) {
        int64_t expected = spec->field.type.shape[0];
        uint8_t *to = out->data + call->row * out->row_bytes;
        if (!is_tolerated(on_mismatch, n, expected))
            return fail_count(call, spec, steps.at, n, expected, "steps");
        if (n < expected) memset(to + n * step_bytes, 0, (size_t)((expected - n) * step_bytes));
        return write_each(call, spec, steps, n < expected ? n : expected, on_mismatch, to);
    }
    if (n == 0) return PFD_OK;
    if (n > INT64_MAX / step_bytes) return fail_memory(call);
    uint8_t *to = call->args->host->alloc(call->args->scratch, n * step_bytes);
    if (!to) return fail_memory(call);
    out->rows[call->row] = (pfd_ragged_row){to, n * spec->count, NULL};
    return write_each(call, spec, steps, n, on_mismatch, to);
}

/* Writes the row of the call.  `feature` is the bytes of the Feature, or of the FeatureList if the
 * spec is a list of steps; its `at` is NULL if the record does not have it. */
static pfd_status feature_row_write(const feature_call *call, const feature_spec *spec,
                                    const pfd_wire_cursor *feature, int32_t on_mismatch,
                                    pfd_tensor *out)
{
    feature_list list;
    if (!feature->at) return write_missing(call, spec, out);
    if (spec->is_steps) return write_steps(call, spec, *feature, on_mismatch, out);
    PFD_TRY(find_list(call, spec, feature, &list));
    if (list.kind == FEATURE_NONE) return write_missing(call, spec, out);
    if (spec->is_bytes) return write_string(call, spec, &list, &out->rows[call->row]);
    if (spec->is_ragged) return write_varying(call, spec, &list, &out->rows[call->row]);
    uint8_t *to = out->data + call->row * out->row_bytes;
    if (list.is_plain && spec->field.type.dtype == PFD_FLOAT32 && !spec->is_raw &&
        list.values.end - list.values.at == out->row_bytes) {
        memcpy(to, list.values.at, (size_t)out->row_bytes);
        return PFD_OK;
    }
    if (spec->kind == FEATURE_INT64 && spec->count == 1 &&
        feature_list_one(&list, spec->field.type.dtype, to))
        return PFD_OK;
    return write_fixed(call, spec, &list, on_mismatch, to);
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Field numbers of the parts of a message.  The second of the two maps is for lists of steps. */
enum { features_part = 1, lists_part = 2, num_maps = 2 };

/* The map for the features of a part; NULL: it is an unknown part. */
static feature_map *map_of(const feature_call *call, feature_map *const *maps, uint32_t tag)
{
    if (tag == PFD_WIRE_TAG(features_part, PFD_WIRE_BYTES)) return maps[0];
    return tag == PFD_WIRE_TAG(lists_part, PFD_WIRE_BYTES) && call->message->has_lists ? maps[1]
                                                                                      : NULL;
}

static pfd_status find_features(const feature_call *call, feature_map *const *maps)
{
    pfd_bytes row = pfd_row_bytes(call->args->inputs[0], call->row);
    pfd_wire_cursor c = {row.data, row.data + (row.data ? row.size : 0)}, part;
    for (int32_t i = 0; i <= call->message->has_lists; i++) {
        maps[i]->place = 0;
        for (int64_t k = 0; k < maps[i]->num_specs; k++) maps[i]->found[k].at = NULL;
    }
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        feature_map *map = map_of(call, maps, tag);
        if (map) {
            if (!pfd_wire_bytes(&c, &part)) return feature_damaged(call, c.at);
            PFD_TRY(feature_map_walk(call, map, part));
        } else if (!tag || !pfd_wire_skip(&c, tag)) {
            return feature_damaged(call, c.at);
        }
    }
    return PFD_OK;
}

const pfd_port pfd_feature_inputs[1] = {
    {"in", "Records as bytes, uint8 of one dimension, as TFRecordReader gives them."},
};

const pfd_port pfd_feature_outputs[1] = {
    {"out", "One output for each field, in the order of features."},
};

pfd_status pfd_feature_compute(const pfd_compute_args *args, const pfd_feature_message *message,
                               pfd_error *err)
{
    const pfd_feature_attrs *attrs = args->attrs;
    feature_spec *specs = NULL;
    feature_map *maps[num_maps] = {NULL, NULL};
    pfd_status status = feature_specs_make(args, message, &specs, err);
    for (int32_t i = 0; i <= message->has_lists && status == PFD_OK; i++)
        status = feature_map_make(args, specs, i, &maps[i], err);
    for (int64_t i = 0; i < args->num_rows && status == PFD_OK; i++) {
        feature_call call = {args, err, i, message};
        status = find_features(&call, maps);
        for (int64_t k = 0; k < args->num_outputs && status == PFD_OK; k++)
            status = feature_row_write(&call, &specs[k], &maps[specs[k].is_steps]->found[k],
                                       attrs->on_mismatch, args->outputs[k]);
    }
    return status;
}
