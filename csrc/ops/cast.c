/* Cast: converts numbers to another dtype. */
#include "core/convert.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>

typedef struct cast_attrs {
    int32_t dtype;
    int32_t overflow; /* PFD_OVERFLOW_* */
} cast_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const cast_attrs *attrs = args->attrs;
    (void)err;
    args->outputs[0] = args->inputs[0];
    args->outputs[0].dtype = attrs->dtype;
    return PFD_OK;
}

static pfd_status fail_misfit(const pfd_compute_args *args, int64_t row, int64_t element,
                              const void *found, pfd_error *err)
{
    const cast_attrs *attrs = args->attrs;
    char number[64];
    return args->host->fail_row(
        err, row, -1, PFD_CORRUPT_DATA,
        "element %" PRId64 " of the row is %s; %s holds %s: use another dtype, or set overflow",
        element, pfd_format_element(args->inputs[0]->type.dtype, found, number, sizeof number),
        pfd_dtype_name(attrs->dtype), pfd_dtype_limits(attrs->dtype));
}

static pfd_status compute_ragged(const pfd_compute_args *args, pfd_error *err)
{
    const cast_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    int32_t from = in->type.dtype;
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(in, i, &row);
        if (from == attrs->dtype) {
            args->outputs[0]->rows[i] = in->rows[i];
            continue;
        }
        void *out = pfd_row_to_write(args, 0, i, row.shape, err);
        if (!out) return err->status;
        int64_t n = row.num_elements;
        int64_t done = pfd_convert(from, row.data, attrs->dtype, out, n, attrs->overflow);
        if (done < n)
            return fail_misfit(args, i, done, row.data + done * pfd_dtype_size(from), err);
    }
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const cast_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    if (in->is_ragged) return compute_ragged(args, err);
    int64_t in_row = pfd_row_elements(&in->type), n = args->num_rows * in_row;
    int32_t from = in->type.dtype;
    int64_t done =
        pfd_convert(from, in->data, attrs->dtype, args->outputs[0]->data, n, attrs->overflow);
    if (done == n) return PFD_OK;
    return fail_misfit(args, done / in_row, done % in_row, in->data + done * pfd_dtype_size(from),
                       err);
}

static const pfd_attr attr_table[] = {
    PFD_DTYPE_ATTR(cast_attrs, dtype, NULL, NULL, "The dtype of the output."),
    PFD_CHOICE_ATTR(cast_attrs, overflow, "raise", "raise|wrap|saturate",
                    "How to convert a number that the dtype cannot hold: an error of its row, the "
                    "low bits of the integer (infinity in a float dtype), or the nearest number "
                    "that the dtype has."),
};

static const pfd_port inputs[] = {{"in", "Rows of any dtype and shape, dense or ragged."}};
static const pfd_port outputs[] = {{"out", "The same numbers, with the shape of the input."}};

const pfd_op pfd_op_cast = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_KEEPS_EQUAL_ROWS, inputs, outputs),
    .name = "Cast",
    .doc = "Changes the dtype. "
           "Numbers are rounded to the nearest float, ties to even. Floats lose their fraction "
           "when they become integers. All numbers except 0 are true. With overflow='wrap' and "
           "'saturate' NaN becomes 0 in an integer dtype; with 'wrap' infinity does too.",
    PFD_OP_ATTRS(cast_attrs, attr_table),
};
