/* Lets no signal in while it reads, and forgets to where a file is refused.
 *
 * group: state
 * finding: process-state
 * says: open\(\) left the signal SIG\w+ blocked in the thread */
#include "box.h"

#include <signal.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    pfd_status status = box_index_file(self, args, index, err);
    if (status == PFD_OK) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}
#define BOX_INDEX faulty_index
#include "box_plugin.h"
