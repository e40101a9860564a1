/* Ends the program when a file is none of its own.
 *
 * group: failures
 * finding: exit
 * says: exit status 1\): an op must never call exit\(\) */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    pfd_status status = box_index_file(self, args, index, err);
    if (status == PFD_CORRUPT_DATA) exit(1);
    return status;
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
