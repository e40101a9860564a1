/* An array of variable length on the stack, as long as a row.
 *
 * group: types
 * finding: stack-overrun
 * says: compute\(\) needs more memory of the stack than there is.*large rows
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t size = numbers_size(&args->inputs[0]->type);
    for (int64_t row = 0; row < args->num_rows; row++) {
        double sums[size + 1];
        sums[0] = 0;
        for (int64_t i = 0; i < size; i++) sums[i + 1] = sums[i] + numbers_in(args)[row * size + i];
        for (int64_t i = 0; i < size; i++) numbers_out(args)[row * size + i] = sums[i + 1];
    }
    return PFD_OK;
}

#include "numbers_plugin.h"
