/* infer() puts a limit on an attr, in the struct that compute() reads as well.
 *
 * group: descriptor
 * finding: writes-into-attrs
 * says: infer\(\) wrote into the bytes of the attr 'scale', which are const
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status faulty_infer(const pfd_infer_args *args, pfd_error *err)
{
    numbers_attrs *attrs = (void *)(uintptr_t)args->attrs;
    if (attrs->scale < 2) attrs->scale = 2;
    return numbers_infer(args, err);
}

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const numbers_attrs *attrs = args->attrs;
    int64_t n = args->num_rows * numbers_size(&args->inputs[0]->type);
    for (int64_t i = 0; i < n; i++) numbers_out(args)[i] = numbers_in(args)[i] * attrs->scale;
    return PFD_OK;
}

#define NUMBERS_INFER faulty_infer
#include "numbers_plugin.h"
