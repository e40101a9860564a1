/* Concat: joins the rows of several blobs. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct concat_attrs {
    int32_t axis;
} concat_attrs;

/* A number counts as a row of one number. */
static void as_array(pfd_row_type *type)
{
    if (type->ndim > 0) return;
    type->ndim = 1;
    type->shape[0] = 1;
}

static pfd_status refuse(const pfd_infer_args *args, int64_t input, const char *expected,
                         pfd_error *err)
{
    char found[256], first[256];
    return args->host->fail(err, PFD_INVALID_ARGUMENT,
                            "the rows of input 'in' number %" PRId64 " are %s, but those of number "
                            "0 are %s; %s",
                            input,
                            pfd_format_row_type(&args->inputs[input], found, sizeof found),
                            pfd_format_row_type(&args->inputs[0], first, sizeof first), expected);
}

/* Adds an input to the output's type. */
static pfd_status add_input(const pfd_infer_args *args, int64_t input, int32_t axis, pfd_error *err)
{
    pfd_row_type type = args->inputs[input], *out = &args->outputs[0];
    as_array(&type);
    if (type.dtype != out->dtype)
        return refuse(args, input,
                      "all must have the same dtype: use flow.Cast(x, dtype=\"float32\") first, or "
                      "read the columns with one dtype, fields=[\"NAME:float32\"]", err);
    if (type.ndim != out->ndim)
        return refuse(args, input, "all must have the same number of dimensions", err);
    for (int32_t d = 0; d < out->ndim; d++) {
        int64_t *size = &out->shape[d];
        if (d == axis) {
            int32_t varies = *size < 0 || type.shape[d] < 0;
            if (varies || __builtin_add_overflow(*size, type.shape[d], size)) *size = -1;
        } else if (*size >= 0 && type.shape[d] >= 0 && *size != type.shape[d]) {
            return refuse(args, input, "they must agree in all dimensions but axis", err);
        } else if (*size < 0) {
            *size = type.shape[d]; /* the other input fixes the size */
        }
    }
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const concat_attrs *attrs = args->attrs;
    pfd_row_type *out = &args->outputs[0];
    *out = args->inputs[0];
    as_array(out);
    int32_t axis = pfd_axis(attrs->axis, out->ndim);
    if (axis < 0 || axis >= out->ndim) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "they have no dimension %d, which is axis",
                       attrs->axis);
        return pfd_refuse_rows(args, 0, "in", expected, err);
    }
    for (int64_t i = 1; i < args->num_inputs; i++) PFD_TRY(add_input(args, i, axis, err));
    return PFD_OK;
}

/* The row of an input as an array. */
static void read_row(const pfd_tensor *in, int64_t i, pfd_row *out)
{
    pfd_row_at(in, i, out);
    if (in->type.ndim == 0) out->shape[0] = 1;
}

static pfd_status measure(const pfd_compute_args *args, int64_t i, int32_t axis, int64_t *shape,
                          pfd_error *err)
{
    const pfd_row_type *out = &args->outputs[0]->type;
    pfd_row row;
    read_row(args->inputs[0], i, &row);
    for (int32_t d = 0; d < out->ndim; d++) shape[d] = row.shape[d];
    for (int64_t k = 1; k < args->num_inputs; k++) {
        read_row(args->inputs[k], i, &row);
        for (int32_t d = 0; d < out->ndim; d++) {
            if (d == axis) {
                shape[d] += row.shape[d];
            } else if (row.shape[d] != shape[d]) {
                return args->host->fail_row(
                    err, i, -1, PFD_CORRUPT_DATA,
                    "dimension %d of the row is %" PRId64 " in input number %" PRId64
                    " but %" PRId64 " in number 0; all dimensions except axis must be equal",
                    d, row.shape[d], k, shape[d]);
            }
        }
    }
    for (int32_t d = 0; d < out->ndim; d++)
        if (out->shape[d] >= 0 && shape[d] != out->shape[d])
            return args->host->fail_row(err, i, -1, PFD_CORRUPT_DATA,
                                        "dimension %d of the row is %" PRId64 ", but another input "
                                        "has %" PRId64 " in every row",
                                        d, shape[d], out->shape[d]);
    return PFD_OK;
}

static pfd_status concat_row(const pfd_compute_args *args, int64_t i, int32_t axis, pfd_error *err)
{
    const pfd_row_type *type = &args->outputs[0]->type;
    int64_t shape[PFD_MAX_DIMS] = {0}, outer = 1, inner = pfd_dtype_size(type->dtype);
    PFD_TRY(measure(args, i, axis, shape, err));
    uint8_t *to = pfd_row_to_write(args, 0, i, shape, err);
    if (!to) return err->status;
    for (int32_t d = 0; d < axis; d++) outer *= shape[d];
    for (int32_t d = axis + 1; d < type->ndim; d++) inner *= shape[d];
    for (int64_t k = 0; k < args->num_inputs; k++) {
        pfd_row row;
        read_row(args->inputs[k], i, &row);
        int64_t run = row.shape[axis] * inner, stride = shape[axis] * inner;
        pfd_copy_box(row.data, &run, to, &stride, &outer, 1, run);
        to += run;
    }
    return PFD_OK;
}

/* Copies runs of `bytes`, which is constant where it is 4 or 8. */
static inline void copy_runs(const uint8_t *from, int64_t distance, uint8_t *to, int64_t stride,
                             int64_t n, size_t bytes)
{
    for (int64_t i = 0; i < n; i++) memcpy(to + i * stride, from + i * distance, bytes);
}

/* Rows of fixed shapes, one input after another: of numbers, which columns of a table are, what is
 * done for each row of each input would cost more than the copies. */
static void concat_fixed(const pfd_compute_args *args, int32_t axis)
{
    const pfd_tensor *out = args->outputs[0];
    const int64_t *shape = out->type.shape;
    int64_t outer = 1, inner = pfd_dtype_size(out->type.dtype);
    for (int32_t d = 0; d < axis; d++) outer *= shape[d];
    for (int32_t d = axis + 1; d < out->type.ndim; d++) inner *= shape[d];
    int64_t stride = shape[axis] * inner; /* runs follow each other from row to row as well */
    uint8_t *to = out->data;
    for (int64_t k = 0; k < args->num_inputs; k++) {
        const pfd_tensor *in = args->inputs[k];
        int64_t run = (in->type.ndim > 0 ? in->type.shape[axis] : 1) * inner;
        int64_t n = args->num_rows * outer;
        if (run == 4) copy_runs(in->data, 4, to, stride, n, 4);
        else if (run == 8) copy_runs(in->data, 8, to, stride, n, 8);
        else if (run > 0) copy_runs(in->data, run, to, stride, n, (size_t)run);
        to += run;
    }
}

static int32_t has_fixed_rows(const pfd_compute_args *args)
{
    for (int64_t k = 0; k < args->num_inputs; k++)
        if (args->inputs[k]->is_ragged) return 0;
    return !args->outputs[0]->is_ragged;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const concat_attrs *attrs = args->attrs;
    int32_t axis = pfd_axis(attrs->axis, args->outputs[0]->type.ndim);
    if (has_fixed_rows(args)) {
        concat_fixed(args, axis);
        return PFD_OK;
    }
    for (int64_t i = 0; i < args->num_rows; i++) PFD_TRY(concat_row(args, i, axis, err));
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(concat_attrs, axis, "0", -PFD_MAX_DIMS, PFD_MAX_DIMS - 1,
                 "The dimension of a row along which rows are joined; -1 is the last one."),
};

static const pfd_port inputs[] = {
    {"in", "Rows of one dtype, dense or ragged, with equal dimensions except one; a number counts "
           "as a row of one number."},
};
static const pfd_port outputs[] = {{"out", "The rows joined, in the order of the inputs."}};

const pfd_op pfd_op_concat = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_MANY_INPUTS, inputs, outputs),
    .name = "Concat",
    .doc = "Joins the rows of several blobs, for example columns of numbers into one vector per "
           "row. If dimensions vary, rows whose sizes do not match count as damaged.",
    PFD_OP_ATTRS(concat_attrs, attr_table),
};
