/* Copies each row into an array that has room for 256 numbers.
 *
 * group: types
 * finding: stack-overrun
 * says: compute\(\) wrote (past the end of an array|over)
 * likely: an array of fixed size on the stack
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t size = numbers_size(&args->inputs[0]->type);
    for (int64_t row = 0; row < args->num_rows; row++) {
        double sorted[256];
        memcpy(sorted, numbers_in(args) + row * size, (size_t)size * sizeof *sorted);
        for (int64_t i = 1; i < size; i++) {
            double number = sorted[i];
            int64_t to = i;
            for (; to > 0 && sorted[to - 1] > number; to--) sorted[to] = sorted[to - 1];
            sorted[to] = number;
        }
        memcpy(numbers_out(args) + row * size, sorted, (size_t)size * sizeof *sorted);
    }
    return PFD_OK;
}

#include "numbers_plugin.h"
