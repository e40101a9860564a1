/* RowLength: how many elements a row has along a dimension. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"

#include <stdio.h>

typedef struct row_length_attrs {
    int32_t axis;
} row_length_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const row_length_attrs *attrs = args->attrs;
    int32_t ndim = args->inputs[0].ndim, axis = pfd_axis(attrs->axis, ndim);
    if (axis < 0 || axis >= ndim) {
        char found[64];
        (void)snprintf(found, sizeof found, "they have no dimension %d, which is axis",
                       attrs->axis);
        return pfd_refuse_rows(args, 0, "in", found, err);
    }
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const pfd_tensor *in = args->inputs[0];
    int64_t *out = (void *)args->outputs[0]->data;
    const row_length_attrs *attrs = args->attrs;
    int32_t axis = pfd_axis(attrs->axis, in->type.ndim);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(in, i, &row);
        out[i] = row.shape[axis];
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(row_length_attrs, axis, "0", -PFD_MAX_DIMS, PFD_MAX_DIMS - 1,
                 "The dimension of a row that is measured; -1 is the last one."),
};

static const pfd_port inputs[] = {{"in", "Rows of any dtype, dense or ragged."}};
static const pfd_port outputs[] = {{"out", "The length of the row, int64."}};

const pfd_op pfd_op_row_length = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "RowLength",
    .doc = "Returns the length of each row along a dimension, for example its number of tokens. "
           "The elements are not examined: if rows are parts of a file, those parts are not read.",
    PFD_OP_ATTRS(row_length_attrs, attr_table),
};
