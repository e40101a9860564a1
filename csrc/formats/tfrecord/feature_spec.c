/* Reads the values of a tf.train.Feature; parses and checks the fields of a decoder. */
#include "formats/tfrecord/feature_spec.h"

#include "core/convert.h"
#include "core/narrow_floats.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "parse/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- Failures -------------------------------------------------------------------------------- */

pfd_status pfd_feature_fail(const pfd_feature_call *call, const uint8_t *at, const char *format,
                            ...)
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

pfd_status pfd_feature_damaged(const pfd_feature_call *call, const uint8_t *at)
{
    pfd_bytes row = pfd_row_bytes(call->args->inputs[0], call->row);
    uintptr_t place = (uintptr_t)at - (uintptr_t)row.data;
    if (!at || place > (uintptr_t)row.size)
        return pfd_feature_fail(call, at, "the record is not a %s", call->message->name);
    return pfd_feature_fail(call, at,
                            "the record is not a %s: "
                            "the field at byte %" PRId64 " of its %" PRId64
                            " is damaged or truncated",
                            call->message->name, (int64_t)place, row.size);
}

static pfd_status fail_memory(const pfd_feature_call *call)
{
    return call->args->host->fail(call->err, PFD_OUT_OF_MEMORY, "no memory for a feature");
}

/* ---- Lists ----------------------------------------------------------------------------------- */
static pfd_status measure(const pfd_feature_call *call, pfd_wire_cursor message, uint32_t tag,
                          int64_t *size)
{
    *size = 0;
    while (message.at < message.end) {
        pfd_wire_cursor content;
        uint32_t found = pfd_wire_tag(&message);
        if (found == tag) {
            if (!pfd_wire_bytes(&message, &content)) return pfd_feature_damaged(call, message.at);
            *size += content.end - content.at;
        } else if (!found || !pfd_wire_skip(&message, found)) {
            return pfd_feature_damaged(call, message.at);
        }
    }
    return PFD_OK;
}

pfd_status pfd_feature_gather(const pfd_feature_call *call, pfd_wire_cursor message, uint32_t tag,
                              pfd_wire_cursor *out)
{
    int64_t size;
    PFD_TRY(measure(call, message, tag, &size));
    uint8_t *to = call->args->host->alloc(call->args->scratch, size > 0 ? size : 1);
    if (!to) return fail_memory(call);
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

/* The last field of a known kind states the kind of the list. The list has several pieces if fields
 * of the same kind are directly before it. */
static pfd_status merge_list(const pfd_feature_call *call, pfd_wire_cursor feature,
                             pfd_feature_list *out)
{
    pfd_wire_cursor all = feature, from = feature;
    *out = (pfd_feature_list){PFD_FEATURE_NONE, 0, {feature.end, feature.end}};
    while (all.at < all.end) {
        const uint8_t *begin = all.at;
        uint32_t tag = pfd_wire_tag(&all), kind = PFD_WIRE_FIELD(tag);
        if (!tag || !pfd_wire_skip(&all, tag)) return pfd_feature_damaged(call, all.at);
        if (PFD_WIRE_TYPE(tag) != PFD_WIRE_BYTES || kind > PFD_FEATURE_INT64) continue;
        if ((int32_t)kind != out->kind) from.at = begin;
        out->kind = (int32_t)kind;
    }
    if (out->kind == PFD_FEATURE_NONE) return PFD_OK;
    return pfd_feature_gather(call, from, PFD_WIRE_TAG(out->kind, PFD_WIRE_BYTES), &out->values);
}

pfd_status pfd_feature_list_merge(const pfd_feature_call *call, pfd_wire_cursor feature,
                                  pfd_feature_list *out)
{
    uint32_t tag = 0;
    PFD_TRY(merge_list(call, feature, out));
    const uint8_t *values = pfd_feature_only_content(out->values.at, out->values.end, &tag);
    out->is_plain = values && tag == PFD_FEATURE_VALUE;
    if (out->is_plain) out->values.at = values;
    return PFD_OK;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Iterates over the runs of packed values of a list. */
typedef struct list_walk {
    pfd_wire_cursor fields; /* the remaining fields of the list */
    uint32_t single;         /* the tag of a value that is not packed */
} list_walk;

static list_walk begin_walk(const pfd_feature_list *list, pfd_wire_cursor *run)
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
        if (tag == PFD_FEATURE_VALUE) {
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
    if (kind == PFD_FEATURE_FLOAT) return size % 4 == 0 ? size / 4 : -1;
    if (size > 0 && run.end[-1] >= 0x80) return -1;
    for (int64_t i = 0; i < size; i++) n += run.at[i] < 0x80;
    return n;
}

static pfd_status count_strings(const pfd_feature_call *call, pfd_wire_cursor c, int64_t *n)
{
    *n = 0;
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        if (!tag || !pfd_wire_skip(&c, tag)) return pfd_feature_damaged(call, c.at);
        *n += tag == PFD_FEATURE_VALUE;
    }
    return PFD_OK;
}

pfd_status pfd_feature_list_count(const pfd_feature_call *call, const pfd_feature_list *list,
                                  int64_t *n)
{
    *n = list->kind == PFD_FEATURE_BYTES;
    if (list->kind == PFD_FEATURE_NONE || (list->kind == PFD_FEATURE_BYTES && list->is_plain))
        return PFD_OK;
    if (list->kind == PFD_FEATURE_BYTES) return count_strings(call, list->values, n);
    pfd_wire_cursor run;
    list_walk walk = begin_walk(list, &run);
    for (*n = 0;;) {
        int64_t some = count_run(list->kind, run);
        if (some < 0) return pfd_feature_damaged(call, run.end - 1);
        *n += some;
        if (!next_run(&walk, &run)) return pfd_feature_damaged(call, walk.fields.at);
        if (run.at == run.end) return PFD_OK;
    }
}

pfd_status pfd_feature_list_string(const pfd_feature_call *call, const pfd_feature_list *list,
                                   pfd_wire_cursor *out)
{
    pfd_wire_cursor c = list->values;
    *out = c;
    if (list->is_plain) return PFD_OK;
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        if (tag == PFD_FEATURE_VALUE && pfd_wire_bytes(&c, out)) return PFD_OK;
        if (tag == PFD_FEATURE_VALUE || !tag || !pfd_wire_skip(&c, tag)) break;
    }
    return pfd_feature_damaged(call, c.at);
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

static pfd_status read_floats(const pfd_feature_call *call, const pfd_feature_list *list, int64_t n,
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
            return pfd_feature_damaged(call, walk.fields.at);
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

int32_t pfd_feature_list_one(const pfd_feature_list *list, int32_t dtype, void *out)
{
    pfd_wire_cursor c = list->values;
    uint64_t number = 0;
    if (!list->is_plain || !pfd_wire_varint(&c, &number) || c.at < c.end) return 0;
    int64_t value = (int64_t)number;
    if (dtype != PFD_INT64) return store_ints(&value, 1, dtype, out) == 1;
    memcpy(out, &value, sizeof value);
    return 1;
}

static pfd_status fail_range(const pfd_feature_call *call, int64_t number, int32_t dtype,
                             const uint8_t *at, const char *key, int64_t key_size)
{
    char name[256];
    return pfd_feature_fail(call, at, "feature %s: %" PRId64 " is not a %s",
                            pfd_quote_bytes((const uint8_t *)key, key_size, name, sizeof name),
                            number, pfd_dtype_name(dtype));
}

static pfd_status read_ints(const pfd_feature_call *call, const pfd_feature_list *list, int64_t n,
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
            if (!pfd_wire_varint(&run, &number)) return pfd_feature_damaged(call, run.at);
            numbers[some] = (int64_t)number;
        }
        int64_t fitting = store_ints(numbers, some, dtype, out);
        if (fitting < some)
            return fail_range(call, numbers[fitting], dtype, begin, key, key_size);
        out += some * element_bytes;
        n -= some;
        if (n > 0 && run.at == run.end && (!next_run(&walk, &run) || run.at == run.end))
            return pfd_feature_damaged(call, walk.fields.at);
    }
    return PFD_OK;
}

pfd_status pfd_feature_list_read(const pfd_feature_call *call, const pfd_feature_list *list,
                                 int64_t n, int32_t dtype, void *out, const char *key,
                                 int64_t key_size)
{
    if (list->kind == PFD_FEATURE_FLOAT) return read_floats(call, list, n, dtype, out);
    return read_ints(call, list, n, dtype, out, key, key_size);
}

/* ---- Fields of a decoder --------------------------------------------------------------------- */

#define FEATURE_LISTS "feature_lists/" /* begins the key of a list of steps */

enum { most_values = INT32_MAX }; /* of a row whose shape is fixed */

static pfd_status refuse(const pfd_host *host, const pfd_feature_spec *spec, const char *why,
                         pfd_error *err)
{
    char element[256];
    return host->fail_attr(err, "features", NULL, PFD_INVALID_ARGUMENT, ": %s in the field %s", why,
        pfd_quote_bytes((const uint8_t *)spec->element, (int64_t)strlen(spec->element), element,
                        sizeof element));
}

static int is_name(const pfd_feature_spec *spec, const char *name)
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

/* Parses the values of the default: one for all, or as many as the row has.  If `out` is NULL, they
 * are only checked. */
static pfd_status parse_default(const pfd_host *host, const pfd_feature_spec *spec, uint8_t *out,
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
static pfd_status read_type(const pfd_host *host, pfd_feature_spec *spec, pfd_error *err)
{
    const pfd_row_type *type = &spec->field.type;
    int32_t is_float = type->dtype >= PFD_FLOAT16, varying = 0;
    if (!spec->field.has_type) return refuse(host, spec, "a type is missing", err);
    if (pfd_is_narrow_float(type->dtype) && !spec->is_raw)
        return refuse(host, spec,
                      "the dtype is a float of 16 bits, which no list of numbers has (use float32, "
                      "or name the field in 'decode_raw' if its bytes are such numbers),",
                      err);
    spec->kind = spec->is_raw || spec->is_bytes ? PFD_FEATURE_BYTES
                 : is_float                     ? PFD_FEATURE_FLOAT
                                                : PFD_FEATURE_INT64;
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
static pfd_status read_steps(const pfd_host *host, pfd_feature_spec *spec, pfd_error *err)
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
                            const pfd_feature_message *message, int64_t i, pfd_feature_spec *out,
                            pfd_error *err)
{
    const char *element = attrs->features.data[i];
    *out = (pfd_feature_spec){.element = element};
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
            pfd_feature_spec spec;
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
        pfd_feature_spec spec;
        PFD_TRY(read_spec(args->host, attrs, message, i, &spec, err));
        args->outputs[i] = spec.field.type;
    }
    return check_decode_raw(args, message, err);
}

static pfd_status make_fill(const pfd_compute_args *args, pfd_feature_spec *spec, pfd_error *err)
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

pfd_status pfd_feature_specs_make(const pfd_compute_args *args, const pfd_feature_message *message,
                                  pfd_feature_spec **out, pfd_error *err)
{
    const pfd_feature_attrs *attrs = args->attrs;
    int64_t n = args->num_outputs;
    pfd_feature_spec *specs = args->host->alloc(args->scratch, n * (int64_t)sizeof *specs);
    if (!specs) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the fields");
    for (int64_t i = 0; i < n; i++) {
        PFD_TRY(read_spec(args->host, attrs, message, i, &specs[i], err));
        PFD_TRY(make_fill(args, &specs[i], err));
    }
    *out = specs;
    return PFD_OK;
}
