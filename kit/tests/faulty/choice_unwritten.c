/* One choice of an attr has no branch.
 *
 * group: choices
 * finding: row-unwritten
 * says: wrote none of the \d+ rows of output 'out'.*mode=absolute
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

static pfd_status numbers_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const numbers_attrs *attrs = args->attrs;
    int64_t n = args->num_rows * numbers_size(&args->inputs[0]->type);
    for (int64_t i = 0; i < n; i++) {
        double number = numbers_in(args)[i] * attrs->scale;
        switch (attrs->mode) {
        case 0: numbers_out(args)[i] = number; break;
        case 1: numbers_out(args)[i] = number * number; break;
        default: break;
        }
    }
    return PFD_OK;
}

#include "numbers_plugin.h"
