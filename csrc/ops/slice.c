/* Slice: takes a part of each row, like NumPy's x[start:stop:step] along some dimensions. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>

typedef struct slice_attrs {
    pfd_list_int64 start, stop, step, axes;
} slice_attrs;

/* The slice along one dimension. */
typedef struct cut {
    int64_t first, step, count;
} cut;

/* Converts an index that may count from the end, or be outside, into one in [low, high]. */
static int64_t bounded(int64_t index, int64_t size, int64_t low, int64_t high)
{
    if (index < 0) index += size;
    return index < low ? low : index > high ? high : index;
}

static cut cut_of(const slice_attrs *attrs, int64_t k, int64_t size)
{
    int64_t step = k < attrs->step.size ? attrs->step.data[k] : 1;
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    int64_t first = step > 0 ? low : high, end = step > 0 ? high : low;
    if (k < attrs->start.size) first = bounded(attrs->start.data[k], size, low, high);
    if (k < attrs->stop.size) end = bounded(attrs->stop.data[k], size, low, high);
    int64_t span = step > 0 ? end - first : first - end;
    return (cut){first, step, span > 0 ? (span - 1) / (step > 0 ? step : -step) + 1 : 0};
}

static int64_t num_cuts(const slice_attrs *attrs)
{
    int64_t n = attrs->start.size;
    if (attrs->stop.size > n) n = attrs->stop.size;
    return attrs->step.size > n ? attrs->step.size : n;
}

static int32_t axis_of(const slice_attrs *attrs, int64_t k, int32_t ndim)
{
    int64_t axis = attrs->axes.size > 0 ? attrs->axes.data[k] : k;
    return (int32_t)(axis < 0 ? axis + ndim : axis);
}

static pfd_status check_lists(const pfd_infer_args *args, pfd_error *err)
{
    const slice_attrs *attrs = args->attrs;
    const pfd_list_int64 *lists[] = {&attrs->start, &attrs->stop, &attrs->step, &attrs->axes};
    static const char *const names[] = {"start", "stop", "step", "axes"};
    int64_t n = num_cuts(attrs);
    if (n == 0)
        return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                "none of start, stop and step is given: nothing is cut off");
    for (int32_t i = 0; i < 4; i++)
        if (lists[i]->size > 0 && lists[i]->size != n)
            return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                    "%s has %" PRId64 " numbers, but another list has %" PRId64 "; "
                                    "give one for each dimension that is cut",
                                    names[i], lists[i]->size, n);
    for (int64_t k = 0; k < attrs->step.size; k++)
        if (attrs->step.data[k] == 0)
            return args->host->fail(err, PFD_INVALID_ARGUMENT, "step has a 0; it must not be 0");
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const slice_attrs *attrs = args->attrs;
    pfd_row_type *out = &args->outputs[0];
    uint32_t seen = 0;
    PFD_TRY(check_lists(args, err));
    *out = args->inputs[0];
    if (num_cuts(attrs) > out->ndim)
        return pfd_refuse_rows(args, 0, "in", "start, stop or step have more numbers than the rows "
                               "have dimensions", err);
    for (int64_t k = 0; k < num_cuts(attrs); k++) {
        int32_t axis = axis_of(attrs, k, out->ndim);
        if (axis < 0 || axis >= out->ndim || seen & 1u << axis) {
            return pfd_refuse_rows(args, 0, "in", "each element of axes must be another dimension "
                                                  "of the rows",
                                   err);
        }
        seen |= 1u << axis;
        if (out->shape[axis] >= 0) out->shape[axis] = cut_of(attrs, k, out->shape[axis]).count;
    }
    return PFD_OK;
}

static pfd_status slice_row(const pfd_compute_args *args, int64_t i, pfd_error *err)
{
    const slice_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    int64_t bytes = pfd_dtype_size(in->type.dtype), shape[PFD_MAX_DIMS] = {0};
    int64_t from_strides[PFD_MAX_DIMS], to_strides[PFD_MAX_DIMS];
    int32_t ndim = in->type.ndim, outer = 0; /* dimensions after the last cut are copied as one */
    cut cuts[PFD_MAX_DIMS] = {{0}};
    pfd_row row;
    pfd_row_at(in, i, &row);
    for (int32_t d = 0; d < ndim; d++) cuts[d] = (cut){0, 1, row.shape[d]};
    for (int64_t k = 0; k < num_cuts(attrs); k++) {
        int32_t axis = axis_of(attrs, k, ndim);
        cuts[axis] = cut_of(attrs, k, row.shape[axis]);
        if (axis >= outer) outer = axis + 1;
    }
    int64_t in_bytes = bytes, out_bytes = bytes, run = bytes;
    const uint8_t *from = row.data;
    for (int32_t d = ndim - 1; d >= 0; d--) {
        shape[d] = cuts[d].count;
        if (cuts[d].count > 0) from += cuts[d].first * in_bytes;
        from_strides[d] = cuts[d].step * in_bytes;
        to_strides[d] = out_bytes;
        in_bytes *= row.shape[d];
        out_bytes *= shape[d];
        if (d >= outer) run = out_bytes;
    }
    if (cuts[outer - 1].step == 1) run *= shape[--outer];
    if (args->outputs[0]->is_ragged && outer == 0)
        return pfd_row_points_at(args, 0, i, from, shape, err) ? PFD_OK : err->status;
    uint8_t *to = pfd_row_to_write(args, 0, i, shape, err);
    if (!to) return err->status;
    if (out_bytes > 0) pfd_copy_box(from, from_strides, to, to_strides, shape, outer, run);
    return PFD_OK;
}

PFD_COMPUTE_EACH_ROW(slice_row)

static const pfd_attr attr_table[] = {
    PFD_INTS_ATTR(slice_attrs, start, "", 0, 0,
                  "The index at which each slice begins, counted from the end if negative; if "
                  "left out, the beginning."),
    PFD_INTS_ATTR(slice_attrs, stop, "", 0, 0,
                  "The index before which each slice ends, at most the end of the row; if left "
                  "out, the end."),
    PFD_INTS_ATTR(slice_attrs, step, "", -9007199254740992.0, 9007199254740992.0,
                  "The step from element to element, backwards if negative; if left out, 1."),
    PFD_INTS_ATTR(slice_attrs, axes, "", -PFD_MAX_DIMS, PFD_MAX_DIMS - 1,
                  "The dimensions that are sliced; -1 is the last one. If left out, the first "
                  "ones."),
};

static const pfd_port inputs[] = {
    {"in", "Rows of one dimension or more, of any dtype, dense or ragged."},
};
static const pfd_port outputs[] = {
    {"out", "The parts; a dimension that varies in the input also varies in the output."},
};

const pfd_op pfd_op_slice = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "Slice",
    .doc = "Takes a part of each row, like NumPy's row[start:stop:step]. "
           "A list has one number for each dimension that is sliced: Slice(x, start=[0, 2], "
           "stop=[5, 4]) is row[0:5, 2:4]. As in NumPy a slice ends where the row ends, so it may "
           "be shorter than requested, or empty.",
    PFD_OP_ATTRS(slice_attrs, attr_table),
};
