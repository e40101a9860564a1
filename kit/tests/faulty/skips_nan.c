/* Passes numbers over that are no numbers, and with them their places in the output.
 *
 * group: types
 * finding: row-unwritten
 * says: row \d+ of output 'out' \(a made-up row: all NaN
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t n = args->num_rows * numbers_size(&args->inputs[0]->type);
    for (int64_t i = 0; i < n; i++) {
        double number = numbers_in(args)[i];
        if (isnan(number)) continue;
        numbers_out(args)[i] = number;
    }
    return PFD_OK;
}

#include "numbers_plugin.h"
