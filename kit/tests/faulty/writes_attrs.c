/* Corrects an attr where it is used: threads share the struct.
 *
 * group: records
 * finding: writes-into-attrs
 * says: compute\(\) wrote into the bytes of the attr 'scale', which are const
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    numbers_attrs *attrs = (void *)(uintptr_t)args->attrs;
    int64_t n = args->num_rows * numbers_size(&args->inputs[0]->type);
    attrs->scale = fabs(attrs->scale);
    for (int64_t i = 0; i < n; i++) numbers_out(args)[i] = numbers_in(args)[i] * attrs->scale;
    return PFD_OK;
}

#include "numbers_plugin.h"
