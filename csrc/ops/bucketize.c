/* Bucketize: the numbers of the intervals that numbers lie in. */
#include "core/convert.h"
#include "core/op_shorthand.h"
#include "core/rows.h"

#include <inttypes.h>

typedef struct bucketize_attrs {
    pfd_list_float64 boundaries;
    int32_t side; /* 0: an interval has its lower boundary */
} bucketize_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const bucketize_attrs *attrs = args->attrs;
    const pfd_list_float64 *list = &attrs->boundaries;
    args->outputs[0] = args->inputs[0];
    args->outputs[0].dtype = PFD_INT64;
    for (int64_t i = 0; i < list->size; i++)
        if (!(i ? list->data[i] > list->data[i - 1] : list->data[i] == list->data[i]))
            return args->host->fail_attr(err, "boundaries", NULL, PFD_INVALID_ARGUMENT,
                                         "[%" PRId64 "] = %g; each boundary must be above the "
                                         "previous one", i, list->data[i]);
    if (list->size > 0) return PFD_OK;
    return args->host->fail_attr(err, "boundaries", NULL, PFD_INVALID_ARGUMENT,
                                 " has no number; n boundaries make n + 1 intervals");
}

/* How many boundaries lie below a number, with side "right" also those equal to it. */
static int64_t bucket_of(const bucketize_attrs *attrs, double number)
{
    const double *list = attrs->boundaries.data;
    int64_t low = 0, high = attrs->boundaries.size;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int32_t is_below = attrs->side ? list[middle] < number : list[middle] <= number;
        if (is_below) low = middle + 1;
        else high = middle;
    }
    return low;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const bucketize_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    int64_t bytes = pfd_dtype_size(in->type.dtype);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(in, i, &row);
        int64_t *out = pfd_row_to_write(args, 0, i, row.shape, err);
        if (!out) return err->status;
        for (int64_t k = 0; k < row.num_elements; k++) {
            double number;
            (void)pfd_convert(in->type.dtype, row.data + k * bytes, PFD_FLOAT64, &number, 1,
                              PFD_OVERFLOW_WRAP);
            if (number != number)
                return args->host->fail_row(err, i, -1, PFD_CORRUPT_DATA,
                                            "element %" PRId64 " of the row is NaN, which lies in "
                                            "no interval: use FillMissing first", k);
            out[k] = bucket_of(attrs, number);
        }
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOATS_ATTR(bucketize_attrs, boundaries, NULL, 0, 0,
                    "The numbers at which an interval ends and the next one begins, in increasing "
                    "order."),
    PFD_CHOICE_ATTR(bucketize_attrs, side, "right", "right|left",
                    "The side on which a number lies that equals a boundary: in the interval to "
                    "the right of the boundary, or in the interval to its left."),
};

static const pfd_port inputs[] = {{"in", "Numbers of any dtype and shape, dense or ragged."}};
static const pfd_port outputs[] = {
    {"out", "The index of each number's interval, from 0, int64."},
};

const pfd_op pfd_op_bucketize = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_KEEPS_EQUAL_ROWS, inputs, outputs),
    .name = "Bucketize",
    .doc = "Finds the interval that each number lies in; n boundaries make n + 1 intervals. "
           "Numbers are compared as float64. NaN counts as damaged.",
    PFD_OP_ATTRS(bucketize_attrs, attr_table),
};
