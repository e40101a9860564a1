/* Binds the thread that opens files to one processor.
 *
 * group: state
 * finding: process-state
 * says: open\(\) bound the thread that called it to other processors */
#include "box.h"

#include <sched.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(sched_getcpu(), &first);
    (void)sched_setaffinity(0, sizeof first, &first);
    return box_index_file(self, args, index, err);
}
#define BOX_INDEX faulty_index
#include "box_plugin.h"
