/* Takes the mean off each row in place, in the input, and copies it then.
 *
 * group: records
 * finding: writes-into-input
 * says: compute\(\) wrote into the bytes of input 0, which are const
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t size = numbers_size(&args->inputs[0]->type);
    for (int64_t row = 0; row < args->num_rows; row++) {
        double *in = (void *)(args->inputs[0]->data + row * args->inputs[0]->row_bytes), sum = 0;
        for (int64_t i = 0; i < size; i++) sum += in[i];
        for (int64_t i = 0; i < size; i++) in[i] -= sum / (double)size;
        memcpy(numbers_out(args) + row * size, in, (size_t)size * sizeof *in);
    }
    return PFD_OK;
}

#include "numbers_plugin.h"
