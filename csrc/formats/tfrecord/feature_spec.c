/* Parses and checks the fields of a decoder of tf.train.Features. */
#include "formats/tfrecord/feature_spec.h"

#include "core/convert.h"
#include "core/narrow_floats.h"
#include "parse/row_type.h"
#include "parse/words.h"

#include <inttypes.h>

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
    static const int64_t prefix = sizeof PFD_FEATURE_LISTS - 1;
    pfd_field_spec *field = &spec->field;
    if (field->key_size < prefix || memcmp(field->key, PFD_FEATURE_LISTS, (size_t)prefix) != 0)
        return PFD_OK;
    spec->is_steps = 1;
    field->key += prefix;
    field->key_size -= prefix;
    if (field->key_size == 0)
        return refuse(host, spec, "a key is missing after '" PFD_FEATURE_LISTS "'", err);
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
