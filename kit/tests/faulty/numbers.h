/* numbers.h -- an op that turns each row of numbers into a row of the same numbers, as float64.  A
 * faulty plugin defines what it does with rows, and includes numbers_plugin.h after. */
#ifndef NUMBERS_H
#define NUMBERS_H
#include "pyflowdata/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS_UNUSED __attribute__((unused))

typedef struct numbers_attrs {
    double scale;
    int32_t is_clipped, mode;
} numbers_attrs;

NUMBERS_UNUSED static int64_t numbers_size(const pfd_row_type *type)
{
    int64_t size = 1;
    for (int32_t i = 0; i < type->ndim; i++) size *= type->shape[i];
    return size;
}

NUMBERS_UNUSED static const double *numbers_in(const pfd_compute_args *args)
{
    return (const void *)args->inputs[0]->data;
}

NUMBERS_UNUSED static double *numbers_out(const pfd_compute_args *args)
{
    return (void *)args->outputs[0]->data;
}

/* Takes any dense float64. */
NUMBERS_UNUSED static pfd_status numbers_infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    if (in->dtype != PFD_FLOAT64)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "the input must be float64");
    args->outputs[0] = *in;
    return PFD_OK;
}
#endif
