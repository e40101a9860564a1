/* An op with an input: adds up two float64 numbers of each row, without a look at what rows are.
 *
 * group: types
 * finding: reads-past-input
 * says: compute\(\) read byte \d+ past .* of input 0
 * op: PairSum
 * input: MiniReader */
#include "pyflowdata/op.h"

#include <string.h>

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT64};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++) {
        double pair[2], sum;
        memcpy(pair, args->inputs[0]->data + row * 16, sizeof pair);
        sum = pair[0] + pair[1];
        memcpy(args->outputs[0]->data + row * 8, &sum, sizeof sum);
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "Rows of two numbers."}};
static const pfd_port outputs[] = {{"out", "Their sums."}};

static const pfd_op op = {
    PFD_OP_SIZES,
    .name = "PairSum",
    .doc = "Adds up.",
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};

PFD_PLUGIN("pair_sum", "1.0", &op)
