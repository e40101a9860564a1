/* Passes records over that have few bytes.
 *
 * group: records
 * finding: row-unwritten
 * says: did not write row \d+ of output 'values' */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        if (args->records[row].size > 6) box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
