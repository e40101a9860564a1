/* OneRecDecoder: takes features out of OneRec messages, one output for each. */
#include "core/bytes.h"
#include "core/convert.h"
#include "core/narrow_floats.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- FlatBuffers, checked at each step ------------------------------------------------------- */

/* A buffer is tables, vectors and strings that refer to each other by offsets; a table's fields are
 * found by its vtable.  All numbers are little-endian.  Places are offsets in the buffer.
 *
 * OWNERSHIP  The bytes are borrowed.
 * THREADS    Pure functions.
 * ERRORS     0: an offset leads out of the buffer; buffer->damage is the place of that offset.
 */

typedef struct flatbuffer {
    const uint8_t *data;
    int64_t size;
    int64_t damage; /* the place of the damage that was found; -1: none */
} flatbuffer;

typedef struct flat_table {
    int64_t at, bytes;            /* of the table */
    int64_t vtable, vtable_bytes; /* 2 bytes for each field, after two sizes */
} flat_table;

typedef struct flat_vector {
    int64_t at; /* of its first item */
    int64_t count;
} flat_vector;

enum { offset_bytes = 4, vtable_head_bytes = 4 };

static int32_t fail(flatbuffer *buffer, int64_t place)
{
    buffer->damage = place;
    return 0;
}

/* Whether the buffer has `bytes` bytes from a place on. */
static int32_t holds(const flatbuffer *buffer, int64_t place, int64_t bytes)
{
    return place >= 0 && bytes >= 0 && bytes <= buffer->size && place <= buffer->size - bytes;
}

static int64_t load16(const flatbuffer *buffer, int64_t place)
{
    return pfd_load_le16(buffer->data + place);
}

static uint32_t load32(const flatbuffer *buffer, int64_t place)
{
    return pfd_load_le32(buffer->data + place);
}

static int32_t read_table(flatbuffer *buffer, int64_t at, flat_table *out)
{
    if (!holds(buffer, at, offset_bytes)) return fail(buffer, at);
    out->at = at;
    out->vtable = at - (int32_t)load32(buffer, at);
    if (!holds(buffer, out->vtable, vtable_head_bytes)) return fail(buffer, at);
    out->vtable_bytes = load16(buffer, out->vtable);
    out->bytes = load16(buffer, out->vtable + 2);
    if (out->vtable_bytes < vtable_head_bytes || out->vtable_bytes % 2 ||
        !holds(buffer, out->vtable, out->vtable_bytes))
        return fail(buffer, out->vtable);
    if (out->bytes < offset_bytes || !holds(buffer, at, out->bytes))
        return fail(buffer, out->vtable + 2);
    return 1;
}

/* Finds the table that the offset at a place refers to. */
static int32_t flat_table_at(flatbuffer *buffer, int64_t place, flat_table *out)
{
    if (!holds(buffer, place, offset_bytes)) return fail(buffer, place);
    int64_t at = place + (int64_t)load32(buffer, place);
    return holds(buffer, at, offset_bytes) ? read_table(buffer, at, out) : fail(buffer, place);
}

/* Finds the root table. `identifier`: the four letters that the file must have. */
static int32_t flat_root(flatbuffer *buffer, const char *identifier, flat_table *out)
{
    if (!holds(buffer, 0, 2 * offset_bytes)) return fail(buffer, 0);
    if (memcmp(buffer->data + offset_bytes, identifier, 4) != 0) return fail(buffer, offset_bytes);
    return flat_table_at(buffer, 0, out);
}

/* Finds field `id`, of `bytes` bytes, in a table.  *place is 0 if the table does not have it. */
static int32_t flat_field(flatbuffer *buffer, const flat_table *table, int32_t id, int64_t bytes,
                          int64_t *place)
{
    int64_t entry = vtable_head_bytes + 2 * (int64_t)id;
    *place = 0;
    if (entry >= table->vtable_bytes) return 1; /* the writer did not know the field */
    int64_t offset = load16(buffer, table->vtable + entry);
    if (offset == 0) return 1;
    if (offset < offset_bytes || offset + bytes > table->bytes)
        return fail(buffer, table->vtable + entry);
    *place = table->at + offset;
    return 1;
}

static int32_t flat_vector_at(flatbuffer *buffer, int64_t place, int64_t item_bytes,
                              flat_vector *out)
{
    if (!holds(buffer, place, offset_bytes)) return fail(buffer, place);
    int64_t at = place + (int64_t)load32(buffer, place);
    if (!holds(buffer, at, offset_bytes)) return fail(buffer, place);
    out->count = (int64_t)load32(buffer, at);
    out->at = at + offset_bytes;
    return holds(buffer, out->at, out->count * item_bytes) ? 1 : fail(buffer, at);
}

/* Finds the vector that a field refers to.  A missing field gives an empty vector at place 0. */
static int32_t flat_vector_field(flatbuffer *buffer, const flat_table *table, int32_t id,
                                 int64_t item_bytes, flat_vector *out)
{
    int64_t place;
    *out = (flat_vector){0};
    if (!flat_field(buffer, table, id, offset_bytes, &place)) return 0;
    return place == 0 || flat_vector_at(buffer, place, item_bytes, out);
}

/* ---- Features of a message ------------------------------------------------------------------- */

/* A message is a FlatBuffer:
 *
 *     Example {features: [Feature]; ...}   Feature {name: string; tensor: Tensor}
 *     Tensor {shape: [int32]; data: union of lists}   each list {values: [...]}
 *
 * THREADS  Pure functions.
 * ERRORS   0: the message is damaged at buffer->damage. */

/* The members of the union; int16 to int64, float32 and float64 have the numbers 2 to 6. */
enum { ONEREC_NONE, ONEREC_INT8, ONEREC_STRINGS = 7, ONEREC_BINARIES };

typedef struct onerec_feature {
    int32_t kind;       /* the member of the union */
    flat_vector shape;  /* of int32 */
    flat_vector values; /* of numbers, or of the offsets of strings or binaries */
} onerec_feature;

/* Numbers of fields; a union takes two, for its type and its value. */
enum { example_features = 0 };
enum { feature_name = 0, feature_tensor = 1 };
enum { tensor_shape = 0, tensor_data_type = 1, tensor_data = 2 };
enum { list_values = 0, binary_buffer = 0 };

/* Finds feature i and its name. */
static int32_t read_name(flatbuffer *buffer, const flat_vector *features, int64_t i,
                         flat_table *feature, flat_vector *name)
{
    return flat_table_at(buffer, features->at + offset_bytes * i, feature) &&
           flat_vector_field(buffer, feature, feature_name, 1, name);
}

static int32_t read_list(flatbuffer *buffer, const flat_table *tensor, onerec_feature *out)
{
    static const int64_t item_bytes[] = {0, 1, 2, 4, 8, 4, 8, offset_bytes, offset_bytes};
    int64_t type, data;
    flat_table list;
    if (!flat_field(buffer, tensor, tensor_data_type, 1, &type) ||
        !flat_field(buffer, tensor, tensor_data, offset_bytes, &data))
        return 0;
    out->kind = type ? buffer->data[type] : ONEREC_NONE;
    if (out->kind > ONEREC_BINARIES) return fail(buffer, type);
    if (out->kind == ONEREC_NONE || data == 0) return 1;
    return flat_table_at(buffer, data, &list) &&
           flat_vector_field(buffer, &list, list_values, item_bytes[out->kind], &out->values);
}

static int32_t read_tensor(flatbuffer *buffer, const flat_table *feature, onerec_feature *out)
{
    int64_t place;
    flat_table tensor;
    *out = (onerec_feature){0};
    if (!flat_field(buffer, feature, feature_tensor, offset_bytes, &place)) return 0;
    if (place == 0) return 1;
    return flat_table_at(buffer, place, &tensor) &&
           flat_vector_field(buffer, &tensor, tensor_shape, 4, &out->shape) &&
           read_list(buffer, &tensor, out);
}

/* Returns 1: found; 0: the message does not have it; -1: the message is damaged.  The search is
 * linear: writers usually sort features by name, but need not. */
static int32_t onerec_find(flatbuffer *buffer, const flat_vector *features, const char *name,
                           int64_t name_size, onerec_feature *out)
{
    for (int64_t i = 0; i < features->count; i++) {
        flat_table feature;
        flat_vector found;
        if (!read_name(buffer, features, i, &feature, &found)) return -1;
        if (found.count != name_size ||
            memcmp(buffer->data + found.at, name, (size_t)name_size) != 0)
            continue;
        return read_tensor(buffer, &feature, out) ? 1 : -1;
    }
    return 0;
}

/* The bytes of value i of a list of strings or binaries. */
static int32_t onerec_bytes(flatbuffer *buffer, const onerec_feature *feature, int64_t i,
                            flat_vector *out)
{
    int64_t place = feature->values.at + offset_bytes * i;
    flat_table binary;
    if (feature->kind == ONEREC_STRINGS) return flat_vector_at(buffer, place, 1, out);
    return flat_table_at(buffer, place, &binary) &&
           flat_vector_field(buffer, &binary, binary_buffer, 1, out);
}

/* ---- The op ---------------------------------------------------------------------------------- */

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

/* A message, and the row that is made from it. */
typedef struct message {
    const pfd_compute_args *args;
    int64_t row;
    flatbuffer buffer;
    flat_vector features;
} message;

/* ---- The wanted features --------------------------------------------------------------------- */

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

static pfd_status fail_damaged(const message *self, pfd_error *err)
{
    const uint8_t *place = self->buffer.data + self->buffer.damage;
    return self->args->host->fail_row(err, self->row,
                                      pfd_place_in_record(self->args, self->row, place),
                                      PFD_CORRUPT_DATA,
                                      "the message is damaged at its byte %" PRId64
                                      ": it is not a FlatBuffer '1REC', or its bytes were changed",
                                      self->buffer.damage);
}

/* The message begins with "feature 'x'". */
__attribute__((format(printf, 4, 5))) static pfd_status
fail_feature(const message *self, const wanted *want, pfd_error *err, const char *format, ...)
{
    char text[700];
    int64_t shown = want->field.key_size < 100 ? want->field.key_size : 100;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return self->args->host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA, "feature '%.*s'%s",
                                      (int)shown, want->field.key, text);
}

static pfd_status fail_missing(message *self, const wanted *want, pfd_error *err)
{
    char names[500] = "no features", one[256];
    int64_t used = 0;
    for (int64_t i = 0; i < self->features.count && used < 300; i++) {
        flat_table feature;
        flat_vector name;
        if (!read_name(&self->buffer, &self->features, i, &feature, &name))
            return fail_damaged(self, err);
        (void)pfd_quote_bytes(self->buffer.data + name.at, name.count, one, sizeof one);
        used += snprintf(names + used, sizeof names - (size_t)used, "%s%.150s", i ? ", " : "", one);
    }
    return fail_feature(self, want, err, ": the record does not have it; it has %s", names);
}

static pfd_status fail_kind(const message *self, const wanted *want, const onerec_feature *feature,
                            pfd_error *err)
{
    static const char *const kind_names[] = {"no list", "int8",    "int16",   "int32",   "int64",
                                             "float32", "float64", "strings", "binaries"};
    char type[256];
    return fail_feature(self, want, err,
                        " is a list of %s, of %" PRId64
                        " values, but the field is %s: OneRecDecoder does not cast; it reads int8, "
                        "or one string or binary, as bytes (uint8)",
                        kind_names[feature->kind], feature->values.count,
                        pfd_format_row_type(&want->field.type, type, sizeof type));
}

static pfd_status fail_size(const message *self, const wanted *want, int64_t count, pfd_error *err)
{
    char type[256];
    return fail_feature(self, want, err, " has %" PRId64 " values, which do not fit a row of %s",
                        count,
                        pfd_format_row_type(&want->field.type, type, sizeof type));
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Finds the numbers of a feature, or the bytes of its only string or binary. */
static pfd_status find_values(message *self, const wanted *want, const onerec_feature *feature,
                              flat_vector *out, pfd_error *err)
{
    static const int32_t dtypes[] = {0,         PFD_INT8,    PFD_INT16,   PFD_INT32, PFD_INT64,
                                     PFD_FLOAT32, PFD_FLOAT64, 0,         0};
    *out = feature->values;
    if (dtypes[feature->kind] == want->field.type.dtype) return PFD_OK;
    if (want->is_bytes && feature->kind == ONEREC_INT8) return PFD_OK;
    if (!want->is_bytes || feature->kind < ONEREC_STRINGS || feature->values.count != 1)
        return fail_kind(self, want, feature, err);
    return onerec_bytes(&self->buffer, feature, 0, out) ? PFD_OK : fail_damaged(self, err);
}

/* Sets the dimensions of a row, of which several vary, to the tensor's, which must fit. */
static pfd_status find_shape(message *self, const wanted *want, const onerec_feature *feature,
                             int64_t count, int64_t **out, pfd_error *err)
{
    const pfd_row_type *type = &want->field.type;
    int64_t product = 1;
    *out = self->args->host->alloc(self->args->scratch, type->ndim * (int64_t)sizeof **out);
    if (!*out) return self->args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a shape");
    if (feature->shape.count != type->ndim) return fail_size(self, want, count, err);
    for (int32_t i = 0; i < type->ndim; i++) {
        int64_t size = (int32_t)load32(&self->buffer, feature->shape.at + 4 * i);
        if (size < 0 || (type->shape[i] >= 0 && type->shape[i] != size) ||
            (size > 0 && product > count / size))
            return fail_size(self, want, count, err);
        (*out)[i] = size;
        product *= size;
    }
    return product == count ? PFD_OK : fail_size(self, want, count, err);
}

/* Sets a ragged row.  It points into the message; numbers that are not aligned, or have another
 * byte order than this machine's, are copied. */
static pfd_status write_ragged(message *self, const wanted *want, const onerec_feature *feature,
                               const flat_vector *values, pfd_ragged_row *out, pfd_error *err)
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
    onerec_feature feature;
    flat_vector values;
    int32_t found = onerec_find(&self->buffer, &self->features, want->field.key,
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
    *out = (message){.args = args, .row = row, .buffer = {bytes.data, bytes.size, -1}};
    flat_table example;
    int32_t is_complete = flat_root(&out->buffer, "1REC", &example) &&
                          flat_vector_field(&out->buffer, &example, example_features,
                                            offset_bytes, &out->features);
    return is_complete ? PFD_OK : fail_damaged(out, err);
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
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "OneRecDecoder",
    .doc = "Takes features out of OneRec messages, one output for each. "
           "Numbers have the dtype with which they are stored and are not cast; bytes are int8 "
           "numbers, or one string or binary. A feature that a record does not have counts as "
           "damage, unless it has a default: one number, which fills the row, or nothing, for an "
           "empty row of varying size.",
    PFD_OP_ATTRS(onerec_decoder_attrs, attr_table),
    .outputs_attr = "features",
    .same_without = pfd_always_same,
};
