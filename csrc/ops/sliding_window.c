/* SlidingWindow: all parts of a row that have one width. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <string.h>

typedef struct sliding_window_attrs {
    int64_t width, step;
} sliding_window_attrs;

static int64_t num_windows(const sliding_window_attrs *attrs, int64_t length)
{
    return length < attrs->width ? 0 : (length - attrs->width) / attrs->step + 1;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const sliding_window_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    pfd_row_type *out = &args->outputs[0];
    if (in->ndim == 0 || in->ndim == PFD_MAX_DIMS)
        return pfd_refuse_rows(args, 0, "in", "they must have 1 to 7 dimensions", err);
    *out = (pfd_row_type){.dtype = in->dtype, .ndim = in->ndim + 1};
    out->shape[0] = in->shape[0] < 0 ? -1 : num_windows(attrs, in->shape[0]);
    out->shape[1] = attrs->width;
    memcpy(out->shape + 2, in->shape + 1, (size_t)(in->ndim - 1) * sizeof *in->shape);
    return PFD_OK;
}

static pfd_status write_windows(const pfd_compute_args *args, int64_t i, pfd_error *err)
{
    const sliding_window_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    int64_t bytes = pfd_dtype_size(in->type.dtype), shape[PFD_MAX_DIMS];
    pfd_row row;
    pfd_row_at(in, i, &row);
    shape[0] = num_windows(attrs, row.shape[0]);
    shape[1] = attrs->width;
    for (int32_t d = 1; d < in->type.ndim; d++) bytes *= shape[d + 1] = row.shape[d];
    uint8_t *to = pfd_row_to_write(args, 0, i, shape, err);
    if (!to) return err->status;
    int64_t window_bytes = attrs->width * bytes, step_bytes = attrs->step * bytes;
    if (shape[0] > 0 && bytes > 0)
        pfd_copy_box(row.data, &step_bytes, to, &window_bytes, shape, 1, window_bytes);
    return PFD_OK;
}

PFD_COMPUTE_EACH_ROW(write_windows)

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(sliding_window_attrs, width, NULL, 1, 1099511627776.0,
                 "The number of elements in a window."),
    PFD_INT_ATTR(sliding_window_attrs, step, "1", 1, 1099511627776.0,
                 "The number of elements from the beginning of one window to the beginning of the "
                 "next."),
};

static const pfd_port inputs[] = {
    {"in", "Rows of one dimension or more, of any dtype, dense or ragged."},
};
static const pfd_port outputs[] = {
    {"out", "The windows: each row has the shape (windows, width, ...)."},
};

const pfd_op pfd_op_sliding_window = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "SlidingWindow",
    .doc = "Returns all windows of the given width along the first dimension of each row, in their "
           "order. For a row of tokens the windows are its n-grams. A row that is shorter than the "
           "width has no window. Elements after the last complete window are left out.",
    PFD_OP_ATTRS(sliding_window_attrs, attr_table),
};
