/* Returns a bare status.
 *
 * group: damage: flipped
 * finding: no-message
 * says: returned status -2 without a message */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) err->message[0] = '\0';
        if (status != PFD_OK) return status;
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
