/* Takes the rows of every input for ragged ones: `rows` is NULL where they are dense.
 *
 * group: types
 * finding: null-pointer
 * says: NULL pointer, with input 0 .* \(inputs: .in. float64, dense rows of shape \(7\)\): `rows`
 * op: LargestRagged
 * input: MiniReader */
#include "numbers.h"

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    if (args->inputs[0].dtype != PFD_FLOAT64 || args->inputs[0].ndim != 1)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "the input must be rows of float64");
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT64};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const pfd_tensor *in = args->inputs[0];
    for (int64_t row = 0; row < args->num_rows; row++) {
        const double *numbers = in->rows[row].data;
        int64_t n = in->rows[row].num_elements;
        double largest = 0;
        for (int64_t i = 0; i < n; i++) largest = fmax(largest, numbers[i]);
        numbers_out(args)[row] = largest;
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "Rows of any size."}};
static const pfd_port outputs[] = {{"out", "The largest number."}};

static const pfd_op op = {
    PFD_OP_SIZES,           .flags = PFD_TAKES_RAGGED,
    .name = "LargestRagged", .doc = "Looks for the largest number.",
    PFD_OP_INPUTS(inputs),  PFD_OP_OUTPUTS(outputs),
    .infer = infer,         .compute = compute,
};

PFD_PLUGIN("largest_ragged", "1.0", &op)
