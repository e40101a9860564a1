/* Has nothing to do for rows of zeros, as if the output were zeroed already.
 *
 * group: types
 * finding: row-unwritten
 * says: row \d+ of output 'out' \(a made-up row: all 0
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t size = numbers_size(&args->inputs[0]->type);
    for (int64_t row = 0; row < args->num_rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < size; i++) sum += fabs(numbers_in(args)[row * size + i]);
        if (sum == 0) continue;
        for (int64_t i = 0; i < size; i++)
            numbers_out(args)[row * size + i] = numbers_in(args)[row * size + i] / sum;
    }
    return PFD_OK;
}

#include "numbers_plugin.h"
