/* Does not fill up what comes after a short payload.
 *
 * group: records
 * finding: bytes-unwritten
 * says: wrote only a part of row 0 of output 'values' */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        int64_t n = args->records[row].size - 4;
        memcpy(args->outputs[0]->data + row * BOX_WIDTH, args->records[row].data + 4, (size_t)n);
        memcpy(args->outputs[1]->data + row * 8, &n, 8);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
