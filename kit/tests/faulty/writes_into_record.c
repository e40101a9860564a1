/* Turns the bytes of a record round where they are.
 *
 * group: records
 * finding: writes-into-record
 * says: wrote into the bytes of record 0, which are */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        ((uint8_t *)(uintptr_t)args->records[row].data)[0] ^= 1;
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
