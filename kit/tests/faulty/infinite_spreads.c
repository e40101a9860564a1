/* Compares with the largest number of all rows of the call, not of its own row.
 *
 * group: types
 * finding: range-dependent
 * says: row \d+ of a range of 13 rows \(a made-up row: .* output 'out' byte \d+ is
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t n = args->num_rows * numbers_size(&args->inputs[0]->type);
    double largest = 1;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(numbers_in(args)[i]) / 1e6);
    for (int64_t i = 0; i < n; i++) numbers_out(args)[i] = numbers_in(args)[i] / largest;
    return PFD_OK;
}

#include "numbers_plugin.h"
