/* Starts a process in open(), for which close() does not wait.
 *
 * group: sample
 * finding: leaves-process
 * says: the op started a process, which is there after close\(\) */
#include "box.h"

#include <unistd.h>

static pfd_status open_with_helper(const pfd_open_args *args, pfd_source *out, pfd_error *err);
#define BOX_OPEN open_with_helper
#include "box_plugin.h"

static pfd_status open_with_helper(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    pid_t helper = fork();
    if (helper == 0) {
        (void)pause();
        _exit(0);
    }
    return box_open_with(args, out, &box_methods, box_index_file, err);
}
