/* Takes a filler for a row that nobody looks at.
 *
 * group: records
 * finding: filler-differs
 * says: filler = 1 gives another row */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        if (args->records[row].filler)
            memset(args->outputs[0]->data + row * BOX_WIDTH, 0, BOX_WIDTH);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
