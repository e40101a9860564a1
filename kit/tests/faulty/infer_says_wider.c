/* infer() says float64, and compute() writes float32 to each row.
 *
 * group: records
 * finding: infer-differs
 * says: none of the 16 rows of output 'out' had bytes beyond byte 7 of 16 written: infer
 * likely: infer\(\) says
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t size = numbers_size(&args->inputs[0]->type);
    for (int64_t row = 0; row < args->num_rows; row++) {
        float *out = (void *)(args->outputs[0]->data + row * args->outputs[0]->row_bytes);
        for (int64_t i = 0; i < size; i++) out[i] = (float)numbers_in(args)[row * size + i];
    }
    return PFD_OK;
}

#include "numbers_plugin.h"
