/* Does not say which row is damaged.
 *
 * group: damage: flipped
 * finding: no-row
 * says: say with host->fail_row\(\) which row */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return args->host->fail(err, PFD_CORRUPT_DATA, "bad data");
        if (status != PFD_OK) return status;
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
