/* Clears four bytes after each row before it writes it.
 *
 * group: records
 * finding: writes-past-output
 * says: wrote byte 1 past the end of the \d+ bytes of out */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        memset(args->outputs[0]->data + row * BOX_WIDTH, 0, BOX_WIDTH + 4);
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
