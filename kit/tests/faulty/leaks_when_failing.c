/* Keeps its memory when a file is refused.
 *
 * group: failures
 * finding: leaks-memory
 * says: closing that failed left \d+ bytes of malloc */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    pfd_status status = box_index_file(self, args, index, err);
    if (status != PFD_OK) self->entries = NULL; /* and box_close() does not free it */
    return status;
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
