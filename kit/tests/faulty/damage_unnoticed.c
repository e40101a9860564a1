/* Does not look at the checksums.
 *
 * group: damage: flipped
 * finding: damage-unnoticed
 * says: read without an error .* compare the checksum */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = PFD_OK;
        (void)err;
        if (status != PFD_OK) return status;
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
