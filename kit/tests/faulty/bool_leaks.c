/* A branch that a bool turns on takes memory, and nobody frees it.
 *
 * group: choices
 * finding: leaks-memory
 * says: is_clipped=True
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    const numbers_attrs *attrs = args->attrs;
    int64_t n = args->num_rows * numbers_size(&args->inputs[0]->type);
    const double *in = numbers_in(args);
    if (attrs->is_clipped) {
        double *clipped = malloc((size_t)n * sizeof *clipped);
        if (!clipped) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the numbers");
        for (int64_t i = 0; i < n; i++) clipped[i] = fmin(in[i], 100);
        in = clipped;
    }
    for (int64_t i = 0; i < n; i++) numbers_out(args)[i] = in[i] * attrs->scale;
    return PFD_OK;
}

#include "numbers_plugin.h"
