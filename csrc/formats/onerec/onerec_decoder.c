/* OneRecDecoder: takes features out of OneRec messages, one output for each. */
#include "core/convert.h"
#include "core/narrow_floats.h"
#include "core/rows.h"
#include "formats/onerec/onerec_features.h"
#include "parse/row_type.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct onerec_decoder_attrs {
    pfd_list_string features;
} onerec_decoder_attrs;

/* A feature that the user wants. */
typedef struct wanted {
    pfd_field_spec field;
    int64_t fixed;    /* product of the dimensions that do not vary */
    int32_t varying;  /* how many dimensions vary */
    int32_t is_bytes; /* uint8[?]: the bytes of a string or binary are accepted too */
    double fill;      /* the default */
} wanted;

/* A message, and the row that is made of it. */
typedef struct message {
    const pfd_compute_args *args;
    int64_t row;
    pfd_flatbuffer buffer;
    pfd_flat_vector features;
} message;

/* ---- What is asked for ----------------------------------------------------------------------- */
static pfd_status read_default(const pfd_host *host, const char *element, wanted *out,
                               pfd_error *err)
{
    const pfd_field_spec *field = &out->field;
    uint64_t ignored;
    if (!field->default_text) return PFD_OK;
    if (out->varying > 0) {
        if (field->default_size == 0) return PFD_OK;
        return host->fail_attr(err, "features", NULL, PFD_INVALID_ARGUMENT,
                               ": '%.200s': the default of a feature of varying size must be "
                               "empty: write nothing after the '='", element);
    }
    int64_t used = host->parse_double(field->default_text, field->default_size, &out->fill);
    if (used > 0 && used == field->default_size &&
        pfd_convert_stored(PFD_FLOAT64, &out->fill, field->type.dtype, &ignored, 1) == 1)
        return PFD_OK;
    return host->fail_attr(err, "features", NULL, PFD_INVALID_ARGUMENT,
                           ": '%.200s': the default must be one number of dtype %s, which then "
                           "fills the row", element, pfd_dtype_name(field->type.dtype));
}

static pfd_status read_wanted(const pfd_host *host, const char *element, wanted *out,
                              pfd_error *err)
{
    *out = (wanted){.fixed = 1};
    pfd_field_spec *field = &out->field;
    PFD_TRY(pfd_field_spec_parse(host, "features", element, field, err));
    if (!field->has_type)
        return host->fail_attr(err, "features", NULL, PFD_INVALID_ARGUMENT,
                               ": '%.200s' has no type; write it after a colon, for example "
                               "'%.100s:int64'", element, element);
    if (pfd_is_narrow_float(field->type.dtype) || field->type.dtype == PFD_BOOL ||
        field->type.dtype == PFD_UINT16 || field->type.dtype == PFD_UINT32 ||
        field->type.dtype == PFD_UINT64)
        return host->fail_attr(err, "features", NULL, PFD_INVALID_ARGUMENT,
                               ": '%.200s': OneRec has int8, int16, int32, int64, float32, float64 "
                               "and bytes (uint8)", element);
    int64_t bytes = pfd_dtype_size(field->type.dtype);
    for (int32_t i = 0; i < field->type.ndim; i++) {
        int64_t size = field->type.shape[i];
        if (size < 0) out->varying++;
        if (size < 0) continue;
        if (size == 0 || size > INT32_MAX || out->fixed > INT32_MAX / bytes)
            return host->fail_attr(err, "features", NULL, PFD_INVALID_ARGUMENT,
                                   ": '%.200s': no feature has a row of this size", element);
        out->fixed *= size;
    }
    out->is_bytes = field->type.dtype == PFD_UINT8;
    return read_default(host, element, out, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const onerec_decoder_attrs *attrs = args->attrs;
    PFD_TRY(pfd_expect_bytes(args, err));
    for (int64_t i = 0; i < attrs->features.size; i++) {
        wanted one;
        PFD_TRY(read_wanted(args->host, attrs->features.data[i], &one, err));
        args->outputs[i] = one.field.type;
    }
    return PFD_OK;
}

/* ---- Failures -------------------------------------------------------------------------------- */
static pfd_status fail_message(const message *self, int64_t place, pfd_error *err,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

static pfd_status fail_message(const message *self, int64_t place, pfd_error *err,
                               const char *format, ...)
{
    const uint8_t *at = place >= 0 ? self->buffer.data + place : NULL;
    char text[700];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return self->args->host->fail_row(err, self->row,
                                      pfd_place_in_record(self->args, self->row, at),
                                      PFD_CORRUPT_DATA, "%s", text);
}

static pfd_status fail_damaged(const message *self, pfd_error *err)
{
    return fail_message(self, self->buffer.damage, err,
                        "the message is damaged at its byte %" PRId64
                        ": it is not a FlatBuffer '1REC', or its bytes were changed",
                        self->buffer.damage);
}

static pfd_status fail_missing(message *self, const wanted *want, pfd_error *err)
{
    char names[500] = "no features", one[256];
    int64_t used = 0;
    for (int64_t i = 0; i < self->features.count && used < 300; i++) {
        pfd_flat_vector name;
        if (pfd_onerec_name(&self->buffer, &self->features, i, &name) < 0)
            return fail_damaged(self, err);
        (void)pfd_quote_bytes(self->buffer.data + name.at, name.count, one, sizeof one);
        used += snprintf(names + used, sizeof names - (size_t)used, "%s%.150s", i ? ", " : "", one);
    }
    return fail_message(self, -1, err, "feature '%.*s': the record does not have it; it has %s",
                        (int)(want->field.key_size < 100 ? want->field.key_size : 100),
                        want->field.key, names);
}

static pfd_status fail_kind(const message *self, const wanted *want,
                            const pfd_onerec_feature *feature, pfd_error *err)
{
    char type[256];
    return fail_message(self, -1, err,
                        "feature '%.*s' is a list of %s, of %" PRId64
                        " values, but the field is %s: OneRecDecoder does not cast; it reads int8, "
                        "or one string or binary, as bytes (uint8)",
                        (int)(want->field.key_size < 100 ? want->field.key_size : 100),
                        want->field.key, pfd_onerec_kind_name(feature->kind),
                        feature->values.count, pfd_format_row_type(&want->field.type, type,
                                                                   sizeof type));
}

static pfd_status fail_size(const message *self, const wanted *want, int64_t count, pfd_error *err)
{
    char type[256];
    return fail_message(self, -1, err,
                        "feature '%.*s' has %" PRId64 " values, which do not fit a row of %s",
                        (int)(want->field.key_size < 100 ? want->field.key_size : 100),
                        want->field.key, count,
                        pfd_format_row_type(&want->field.type, type, sizeof type));
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Finds the numbers of a feature, or the bytes of its only string or binary. */
static pfd_status find_values(message *self, const wanted *want, const pfd_onerec_feature *feature,
                              pfd_flat_vector *out, pfd_error *err)
{
    static const int32_t dtypes[] = {0,         PFD_INT8,    PFD_INT16,   PFD_INT32, PFD_INT64,
                                     PFD_FLOAT32, PFD_FLOAT64, 0,         0};
    *out = feature->values;
    if (dtypes[feature->kind] == want->field.type.dtype) return PFD_OK;
    if (want->is_bytes && feature->kind == PFD_ONEREC_INT8) return PFD_OK;
    if (!want->is_bytes || feature->kind < PFD_ONEREC_STRINGS || feature->values.count != 1)
        return fail_kind(self, want, feature, err);
    return pfd_onerec_bytes(&self->buffer, feature, 0, out) < 0 ? fail_damaged(self, err) : PFD_OK;
}

/* Sets the dimensions of a row in which several vary to those of the tensor, which must fit. */
static pfd_status find_shape(message *self, const wanted *want, const pfd_onerec_feature *feature,
                             int64_t count, int64_t **out, pfd_error *err)
{
    const pfd_row_type *type = &want->field.type;
    int64_t product = 1;
    *out = self->args->host->alloc(self->args->scratch, type->ndim * (int64_t)sizeof **out);
    if (!*out) return self->args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a shape");
    if (feature->shape.count != type->ndim) return fail_size(self, want, count, err);
    for (int32_t i = 0; i < type->ndim; i++) {
        int64_t size = pfd_onerec_dimension(&self->buffer, feature, i);
        if (size < 0 || (type->shape[i] >= 0 && type->shape[i] != size) ||
            (size > 0 && product > count / size))
            return fail_size(self, want, count, err);
        (*out)[i] = size;
        product *= size;
    }
    return product == count ? PFD_OK : fail_size(self, want, count, err);
}

/* Sets a ragged row. It points into the message, unless the numbers are not aligned or have another
 * byte order: then they are copied. */
static pfd_status write_ragged(message *self, const wanted *want, const pfd_onerec_feature *feature,
                               const pfd_flat_vector *values, pfd_ragged_row *out, pfd_error *err)
{
    const pfd_row_type *type = &want->field.type;
    int64_t item = pfd_dtype_size(type->dtype), *shape = NULL;
    const uint8_t *data = self->buffer.data + values->at;
    int32_t swap = pfd_order_is_foreign(PFD_ORDER_LITTLE);
    if (want->varying > 1)
        PFD_TRY(find_shape(self, want, feature, values->count, &shape, err));
    else if (values->count % want->fixed)
        return fail_size(self, want, values->count, err);
    *out = (pfd_ragged_row){.data = data, .num_elements = values->count, .shape = shape};
    if (values->count == 0 || ((uintptr_t)data % (uintptr_t)item == 0 && !swap)) return PFD_OK;
    void *copy = self->args->host->alloc(self->args->scratch, values->count * item);
    if (!copy) return self->args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a feature");
    pfd_copy_stored(copy, data, values->count, type->dtype, swap);
    out->data = copy;
    return PFD_OK;
}

static void write_default(const message *self, const wanted *want, pfd_tensor *out)
{
    if (out->is_ragged) return; /* an empty row */
    int64_t item = pfd_dtype_size(out->type.dtype);
    for (int64_t i = 0; i < want->fixed; i++)
        (void)pfd_convert_stored(PFD_FLOAT64, &want->fill, out->type.dtype,
                                 out->data + self->row * out->row_bytes + i * item, 1);
}

static pfd_status write_feature(message *self, const wanted *want, pfd_tensor *out, pfd_error *err)
{
    pfd_onerec_feature feature;
    pfd_flat_vector values;
    int32_t found = pfd_onerec_find(&self->buffer, &self->features, want->field.key,
                                    want->field.key_size, &feature);
    if (found < 0) return fail_damaged(self, err);
    if (!found && !want->field.default_text) return fail_missing(self, want, err);
    if (!found) {
        write_default(self, want, out);
        return PFD_OK;
    }
    PFD_TRY(find_values(self, want, &feature, &values, err));
    if (out->is_ragged)
        return write_ragged(self, want, &feature, &values, &out->rows[self->row], err);
    if (values.count != want->fixed) return fail_size(self, want, values.count, err);
    pfd_copy_stored(out->data + self->row * out->row_bytes, self->buffer.data + values.at,
                    values.count, out->type.dtype, pfd_order_is_foreign(PFD_ORDER_LITTLE));
    return PFD_OK;
}

static pfd_status open_message(const pfd_compute_args *args, int64_t row, message *out,
                               pfd_error *err)
{
    pfd_bytes bytes = pfd_row_bytes(args->inputs[0], row);
    *out = (message){.args = args, .row = row};
    out->buffer.data = bytes.data;
    out->buffer.size = bytes.size;
    return pfd_onerec_open(&out->buffer, &out->features) < 0 ? fail_damaged(out, err) : PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const onerec_decoder_attrs *attrs = args->attrs;
    int64_t n = attrs->features.size, bytes = n * (int64_t)sizeof(wanted);
    wanted *wants = args->host->alloc(args->scratch, bytes);
    if (!wants) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the features");
    for (int64_t i = 0; i < n; i++)
        PFD_TRY(read_wanted(args->host, attrs->features.data[i], &wants[i], err));
    for (int64_t row = 0; row < args->num_rows; row++) {
        message one;
        PFD_TRY(open_message(args, row, &one, err));
        for (int64_t i = 0; i < n; i++)
            PFD_TRY(write_feature(&one, &wants[i], args->outputs[i], err));
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_STRINGS_ATTR(onerec_decoder_attrs, features, NULL,
                     "The features, each [NAME=]KEY:TYPE[=DEFAULT]: \"label:int64\", "
                     "\"x:float32[64]\", \"ids:int64[?]\", \"image=img:bytes\", \"w:float32=1\"."),
};

static const pfd_port inputs[] = {
    {"in", "Messages as OneRecReader gives them, uint8 of shape (batch, None)."},
};

static const pfd_port outputs[] = {
    {"out", "The features in the order of the attr features, each of its type."},
};

const pfd_op pfd_op_onerec_decoder = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "OneRecDecoder",
    .doc = "Takes features out of OneRec messages, one output for each. "
           "Numbers have the dtype with which they are stored and are not cast; bytes are int8 "
           "numbers, or one string or binary. A feature that a record does not have counts as "
           "damage, unless it has a default: one number, which fills the row, or nothing, for an "
           "empty row of varying size.",
    PFD_OP_ATTRS(onerec_decoder_attrs, attr_table),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .outputs_attr = "features",
    .infer = infer,
    .compute = compute,
};
