/* Has its own handler for Ctrl-C.
 *
 * group: records
 * finding: process-state
 * says: open\(\) changed the handler of the signal SIGINT of */
#include "box.h"

#include <signal.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    (void)signal(SIGINT, SIG_IGN);
    return box_index_file(self, args, index, err);
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
