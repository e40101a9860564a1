/* infer() says rows like those of the input, and compute() writes one number for each.
 *
 * group: records
 * finding: infer-differs
 * says: its 16 rows seem to lie 8 bytes apart, where infer\(\) says 24
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status faulty_infer(const pfd_infer_args *args, pfd_error *err)
{
    if (args->inputs[0].ndim == 0)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "the input must have rows of numbers");
    pfd_status status = numbers_infer(args, err);
    args->outputs[0].shape[0]++;
    return status;
}

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t size = numbers_size(&args->inputs[0]->type);
    for (int64_t row = 0; row < args->num_rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < size; i++) sum += numbers_in(args)[row * size + i];
        numbers_out(args)[row] = sum;
    }
    return PFD_OK;
}

#define NUMBERS_INFER faulty_infer
#include "numbers_plugin.h"
