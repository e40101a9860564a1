/* Takes it for granted that a file is whole.
 *
 * group: damage: cut
 * finding: crash
 * says: open\(\) crashed \(Aborted\), with part-1 cut to */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    pfd_status status = box_index_file(self, args, index, err);
    if (status == PFD_CORRUPT_DATA) abort();
    return status;
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
