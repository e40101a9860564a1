/* Goes to another folder to open files there.
 *
 * group: records
 * finding: process-state
 * says: open\(\) changed the working directory of the whole */
#include "box.h"

#include <unistd.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    (void)!chdir("/");
    return box_index_file(self, args, index, err);
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
