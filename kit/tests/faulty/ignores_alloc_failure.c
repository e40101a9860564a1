/* Writes to what host->alloc() gave without a look.
 *
 * group: failures
 * finding: alloc-failure-ignored
 * says: used the NULL that host->alloc\(\) */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        uint8_t *copy = args->host->alloc(args->scratch, BOX_WIDTH);
        memset(copy, 0, BOX_WIDTH);
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
