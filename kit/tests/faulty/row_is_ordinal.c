/* What fails is named by the ordinal of the record instead of its row.
 *
 * group: damage: flipped
 * finding: no-row
 * says: PFD_CORRUPT_DATA and err->row = \d+ of 1 rows */
#include "box.h"

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) {
            err->row = args->records[row].ordinal;
            return status;
        }
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE compute
#include "box_plugin.h"
