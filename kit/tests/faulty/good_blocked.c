/* Does eight numbers at a time and the rest one by one, without a fault, with all of its attrs.
 *
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

enum { lanes = 8 };

static double compute_one(const numbers_attrs *attrs, double number)
{
    number *= attrs->scale;
    if (attrs->is_clipped && number > 100) number = 100;
    return attrs->mode == 0 ? number : attrs->mode == 1 ? number * number : fabs(number);
}

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t n = args->num_rows * numbers_size(&args->inputs[0]->type), i = 0;
    for (; i + lanes <= n; i += lanes)
        for (int64_t lane = 0; lane < lanes; lane++)
            numbers_out(args)[i + lane] = compute_one(args->attrs, numbers_in(args)[i + lane]);
    for (; i < n; i++) numbers_out(args)[i] = compute_one(args->attrs, numbers_in(args)[i]);
    return PFD_OK;
}

#include "numbers_plugin.h"
