/* Tells on standard output, which has a buffer, which record is damaged, besides reporting it.
 *
 * group: damage: flipped
 * finding: prints
 * says: the op wrote "record \d+ is damaged" to standard output or standard error
 * likely: left over from looking for a fault */
#include "box.h"

#include <stdio.h>

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) printf("record %d is damaged\n", (int)args->records[row].ordinal);
        if (status != PFD_OK) return status;
        box_write(args, row);
    }
    return PFD_OK;
}
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
