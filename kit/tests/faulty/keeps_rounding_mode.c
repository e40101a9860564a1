/* Rounds down, and returns early for an empty payload.
 *
 * group: state
 * finding: arithmetic-mode
 * says: compute\(\) changed the rounding mode .*fesetround
 * likely: a return that passes over the place where it is put back */
#include "box.h"

#include <fenv.h>

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    int before = fegetround();
    (void)fesetround(FE_DOWNWARD);
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
    }
    if (args->records[args->num_rows - 1].size > 4 + 10) return PFD_OK;
    (void)fesetround(before);
    return PFD_OK;
}
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
