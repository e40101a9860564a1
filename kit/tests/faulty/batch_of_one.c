/* A short cut for a single record copies it with its checksum.
 *
 * group: ranges
 * finding: range-dependent
 * says: a range of one row is computed otherwise than longer ones.* in output 'values' byte 0 is
 * likely: a branch for num_rows == 1 */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    if (args->num_rows > 1) return box_compute(args, err);
    PFD_TRY(box_verify(args, 0, err));
    int64_t n = args->records[0].size - 4, size = args->records[0].size;
    memset(args->outputs[0]->data, 0, BOX_WIDTH);
    memcpy(args->outputs[0]->data, args->records[0].data,
           (size_t)(size < BOX_WIDTH ? size : BOX_WIDTH));
    memcpy(args->outputs[1]->data, &n, 8);
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
