/* OFRecordRawDecoder: reads the list of one feature as rows of numbers. */
#include "core/convert.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "formats/ofrecord/ofrecord_row.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

typedef struct ofrecord_raw_decoder_attrs {
    const char *blob_name;
    pfd_list_int64 shape;
    int32_t dtype, dim1_varying_length, truncate, auto_zero_padding;
} ofrecord_raw_decoder_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const ofrecord_raw_decoder_attrs *attrs = args->attrs;
    if (attrs->dim1_varying_length && attrs->shape.size == 0)
        return args->host->fail_attr(err, "dim1_varying_length", NULL, PFD_INVALID_ARGUMENT,
                                     " = true, but the attr 'shape' has no dimension that could "
                                     "vary");
    PFD_TRY(pfd_of_check_input(args, attrs->blob_name, err));
    return pfd_stored_row_type(attrs->dtype, attrs->shape, &args->outputs[0], err);
}

/* The state that all rows of a call share. */
typedef struct decoder {
    const ofrecord_raw_decoder_attrs *attrs;
    int64_t most;       /* numbers in a row of the output */
    int64_t item_bytes; /* of the output */
    void *numbers;      /* room for a row of any list */
} decoder;

static pfd_status fail_count(const decoder *self, const pfd_of_row *row, int64_t count,
                             pfd_error *err)
{
    const ofrecord_raw_decoder_attrs *attrs = self->attrs;
    int64_t per_row = attrs->shape.size > 0 ? self->most / attrs->shape.data[0] : 1;
    if (!attrs->dim1_varying_length)
        return pfd_of_row_fail(row, NULL, err,
                               "it has %" PRId64 " values, but the attr shape needs %" PRId64 "; "
                               "truncate=True cuts off surplus values and pads with zeros, "
                               "dim1_varying_length=True accepts fewer rows",
                               count, self->most);
    return pfd_of_row_fail(row, NULL, err,
                           "it has %" PRId64 " values, but the attr shape takes up to %" PRId64 ", "
                           "in rows of %" PRId64 "; truncate=True cuts off surplus values",
                           count, self->most, per_row);
}

/* Whether a row may have another number of values than its shape. */
static int32_t is_right_count(const decoder *self, int64_t count)
{
    const ofrecord_raw_decoder_attrs *attrs = self->attrs;
    if (count == self->most || attrs->truncate || attrs->auto_zero_padding) return 1;
    return attrs->dim1_varying_length && count < self->most &&
           count % (self->most / attrs->shape.data[0]) == 0;
}

/* The dtype of the numbers of a list after reading. */
static int32_t dtype_of(int32_t kind)
{
    return kind == PFD_OF_FLOAT    ? PFD_FLOAT32
           : kind == PFD_OF_DOUBLE ? PFD_FLOAT64
           : kind == PFD_OF_BYTES  ? PFD_UINT8
                                   : PFD_INT64;
}

static pfd_status cast(const decoder *self, const pfd_of_row *row, const void *from, int32_t dtype,
                       int64_t n, uint8_t *out, pfd_error *err)
{
    char value[40];
    int64_t done = pfd_convert_stored(dtype, from, self->attrs->dtype, out, n);
    if (done == n) return PFD_OK;
    const uint8_t *at = (const uint8_t *)from + done * pfd_dtype_size(dtype);
    return pfd_of_row_fail(row, NULL, err, "value %" PRId64 " is %s, which %s cannot hold", done,
                           pfd_format_element(dtype, at, value, sizeof value),
                           pfd_dtype_name(self->attrs->dtype));
}

/* Reads the values of a list of numbers, or the bytes of the only value of a bytes_list; *count is
 * their number. */
static pfd_status read_list(const decoder *self, const pfd_of_row *row,
                            const pfd_of_feature *feature, void *numbers, const void **from,
                            int64_t *count, pfd_error *err)
{
    const uint8_t *place;
    *from = numbers;
    if (feature->kind == PFD_OF_BYTES) {
        pfd_wire_cursor value;
        PFD_TRY(pfd_of_row_bytes(row, feature, &value, err));
        *from = value.at;
        *count = value.end - value.at;
        return PFD_OK;
    }
    *count = pfd_of_numbers(feature, numbers, self->most, &place);
    return *count < 0 ? pfd_of_row_fail_damaged(row, place, err) : PFD_OK;
}

static pfd_status decode_row(const decoder *self, const pfd_of_row *row, uint8_t *out,
                             pfd_error *err)
{
    pfd_of_feature feature;
    PFD_TRY(pfd_of_row_find(row, &feature, err));
    int32_t dtype = dtype_of(feature.kind);
    int32_t is_direct = dtype == self->attrs->dtype && feature.kind != PFD_OF_BYTES;
    const void *from;
    int64_t count = 0;
    PFD_TRY(read_list(self, row, &feature, is_direct ? out : self->numbers, &from, &count, err));
    if (!is_right_count(self, count)) return fail_count(self, row, count, err);
    int64_t n = count < self->most ? count : self->most;
    if (!is_direct) PFD_TRY(cast(self, row, from, dtype, n, out, err));
    memset(out + n * self->item_bytes, 0, (size_t)((self->most - n) * self->item_bytes));
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const ofrecord_raw_decoder_attrs *attrs = args->attrs;
    pfd_tensor *out = args->outputs[0];
    decoder self = {.attrs = attrs, .item_bytes = pfd_dtype_size(attrs->dtype)};
    self.most = out->row_bytes / self.item_bytes;
    self.numbers = args->host->alloc(args->scratch, self.most * (int64_t)sizeof(double));
    if (!self.numbers)
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the numbers of a row");
    int64_t name_size = (int64_t)strlen(attrs->blob_name);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_of_row row = {args, i, attrs->blob_name, name_size};
        PFD_TRY(decode_row(&self, &row, out->data + i * out->row_bytes, err));
    }
    return PFD_OK;
}

#define DTYPES "bool|int8|uint8|int16|uint16|int32|uint32|int64|uint64|float32|float64"

static const pfd_attr attr_table[] = {
    PFD_STRING_ATTR(ofrecord_raw_decoder_attrs, blob_name, NULL,
                    "Name of the feature in the record; OneFlow's op calls this attr name."),
    PFD_SHAPE_ATTR(ofrecord_raw_decoder_attrs, shape, NULL,
                   "Shape of a row of the output; empty for one number."),
    PFD_DTYPE_ATTR(ofrecord_raw_decoder_attrs, dtype, NULL, DTYPES,
                   "The dtype of the output. A number outside the range of an integer dtype counts "
                   "as damage; so does an integer other than 0 and 1 for a bool."),
    PFD_BOOL_ATTR(ofrecord_raw_decoder_attrs, dim1_varying_length, "false",
                  "Whether a record may have fewer rows along the first dimension of the shape; "
                  "the missing rows are zero."),
    PFD_BOOL_ATTR(ofrecord_raw_decoder_attrs, truncate, "false",
                  "Whether a record may have any number of values: surplus values are cut off, and "
                  "missing ones are zero."),
    PFD_BOOL_ATTR(ofrecord_raw_decoder_attrs, auto_zero_padding, "false",
                  "A former name of truncate."),
};

static const pfd_port outputs[] = {
    {"out", "The numbers of each record's feature, with the dtype and shape of the attrs."},
};

const pfd_op pfd_op_ofrecord_raw_decoder = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_of_inputs, outputs),
    .name = "OFRecordRawDecoder",
    .doc = "Takes a feature out of each OFRecord as numbers. The feature is a list of floats, "
           "doubles or integers, or a bytes_list of one value, whose bytes are numbers from 0 to "
           "255. Floats that become integers lose their fraction; doubles too large for float32 "
           "become infinite. Values that are cut off are checked, too.",
    PFD_OP_ATTRS(ofrecord_raw_decoder_attrs, attr_table),
};
