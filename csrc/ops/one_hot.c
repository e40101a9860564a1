/* OneHot: makes a vector of each class number, with one element set. */
#include "core/convert.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

typedef struct one_hot_attrs {
    int64_t depth;
    double on_value, off_value;
    int32_t dtype;
} one_hot_attrs;

static pfd_status check_value(const pfd_infer_args *args, const char *name, double value,
                              pfd_error *err)
{
    const one_hot_attrs *attrs = args->attrs;
    if (pfd_dtype_is_float(attrs->dtype) || pfd_is_exact(value, attrs->dtype)) return PFD_OK;
    return args->host->fail(err, PFD_INVALID_ARGUMENT, "%s = %g; %s holds the integers %s", name,
                            value, pfd_dtype_name(attrs->dtype), pfd_dtype_limits(attrs->dtype));
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const one_hot_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    pfd_row_type *out = &args->outputs[0];
    if (in->dtype == PFD_BOOL || pfd_dtype_is_float(in->dtype))
        return pfd_refuse_rows(args, 0, "in", "they must be integers: use Cast first", err);
    if (in->ndim == PFD_MAX_DIMS)
        return pfd_refuse_rows(args, 0, "in", "the output would have too many dimensions", err);
    pfd_status status = check_value(args, "on_value", attrs->on_value, err);
    if (status == PFD_OK) status = check_value(args, "off_value", attrs->off_value, err);
    *out = *in;
    out->dtype = attrs->dtype;
    out->shape[out->ndim++] = attrs->depth;
    return status;
}

static pfd_status fail_class(const pfd_compute_args *args, int64_t i, int64_t k, int64_t label,
                             const uint8_t *element, pfd_error *err)
{
    const one_hot_attrs *attrs = args->attrs;
    char found[64];
    (void)pfd_format_element(args->inputs[0]->type.dtype, element, found, sizeof found);
    if (label == INT64_MIN)
        return args->host->fail_row(
            err, i, -1, PFD_CORRUPT_DATA,
            "element %" PRId64 " of the row is %s, a missing date: ParseDate with fill = %" PRId64
            ", and depth = %" PRId64 ", give missing dates a class of their own",
            k, found, attrs->depth, attrs->depth + 1);
    return args->host->fail_row(
        err, i, -1, PFD_CORRUPT_DATA,
        "element %" PRId64 " of the row is %s; with depth = %" PRId64 " a class is 0 to %" PRId64,
        k, found, attrs->depth, attrs->depth - 1);
}

static pfd_status set_places(const pfd_compute_args *args, int64_t i, const pfd_row *row,
                             uint8_t *out, const uint8_t *on, pfd_error *err)
{
    const one_hot_attrs *attrs = args->attrs;
    int32_t dtype = args->inputs[0]->type.dtype;
    int64_t bytes = pfd_dtype_size(attrs->dtype), in_bytes = pfd_dtype_size(dtype);
    for (int64_t k = 0; k < row->num_elements; k++) {
        const uint8_t *element = row->data + k * in_bytes;
        int64_t label = -1;
        int64_t fits = pfd_convert(dtype, element, PFD_INT64, &label, 1, PFD_OVERFLOW_RAISE);
        if (!fits || label < 0 || label >= attrs->depth)
            return fail_class(args, i, k, fits ? label : -1, element, err);
        memcpy(out + (k * attrs->depth + label) * bytes, on, (size_t)bytes);
    }
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const one_hot_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    int64_t bytes = pfd_dtype_size(attrs->dtype);
    _Alignas(8) uint8_t on[8], off[8];
    (void)pfd_convert(PFD_FLOAT64, &attrs->on_value, attrs->dtype, on, 1, PFD_OVERFLOW_WRAP);
    (void)pfd_convert(PFD_FLOAT64, &attrs->off_value, attrs->dtype, off, 1, PFD_OVERFLOW_WRAP);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(in, i, &row);
        row.shape[in->type.ndim] = attrs->depth;
        uint8_t *out = pfd_row_to_write(args, 0, i, row.shape, err);
        if (!out) return err->status;
        pfd_fill(out, row.num_elements * attrs->depth, off, bytes);
        PFD_TRY(set_places(args, i, &row, out, on, err));
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(one_hot_attrs, depth, NULL, 1, 4294967296.0, "The number of classes."),
    PFD_FLOAT_ATTR(one_hot_attrs, on_value, "1", 0, 0, "The value at the index of the class."),
    PFD_FLOAT_ATTR(one_hot_attrs, off_value, "0", 0, 0, "The value at all other indices."),
    PFD_DTYPE_ATTR(one_hot_attrs, dtype, "float32", NULL, "The dtype of the output."),
};

static const pfd_port inputs[] = {
    {"in", "Class numbers from 0: integers of any shape, dense or ragged."},
};
static const pfd_port outputs[] = {
    {"out", "The vectors: the shape of the input, then a dimension of depth."},
};

const pfd_op pfd_op_one_hot = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_KEEPS_EQUAL_ROWS, inputs, outputs),
    .name = "OneHot",
    .doc = "Turns each class number into a vector, with on_value at its index and off_value at all "
           "others. A number outside [0, depth) is an error of its row.",
    PFD_OP_ATTRS(one_hot_attrs, attr_table),
};
