/* Does four rows at a time; of the rest it knows one row and three, and forgets two.
 *
 * group: ranges
 * finding: row-unwritten
 * says: Where rows % 4 is 2: compute\(\) wrote none of the 2 rows of output 'out'
 * likely: leaves out those after the last whole block
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static void copy_rows(const pfd_compute_args *args, int64_t row, int64_t n)
{
    int64_t size = numbers_size(&args->inputs[0]->type);
    for (int64_t i = row * size; i < (row + n) * size; i++)
        numbers_out(args)[i] = numbers_in(args)[i];
}

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t row = 0;
    for (; row + 4 <= args->num_rows; row += 4) copy_rows(args, row, 4);
    if (args->num_rows % 4 == 1) copy_rows(args, row, 1);
    if (args->num_rows % 4 == 3) copy_rows(args, row, 3);
    return PFD_OK;
}

#include "numbers_plugin.h"
