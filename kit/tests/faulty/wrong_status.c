/* Calls damage a fault of the program.
 *
 * group: damage: flipped
 * finding: damage-status
 * says: gives PFD_INVALID_ARGUMENT \(bad data\): damaged data is */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return args->host->fail(err, PFD_INVALID_ARGUMENT, "bad data");
        if (status != PFD_OK) return status;
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
