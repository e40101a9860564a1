/* What fails is named by the row after it.
 *
 * group: damage: flipped
 * finding: row-wrong
 * says: err->row = \d+ of \d+ .* record alone can be computed */
#include "box.h"

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) {
            err->row = (row + 1) % args->num_rows;
            return status;
        }
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE compute
#include "box_plugin.h"
