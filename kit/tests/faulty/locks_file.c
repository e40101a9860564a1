/* Locks each file against others until close(), by the descriptor that it keeps.
 *
 * group: state
 * finding: keeps-file-lock
 * says: open\(\) returned and kept a file locked \(descriptor \d+\)
 * likely: flock\(\) or lockf\(\) in open\(\) */
#include "box.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    if (index == 0) {
        self->fd = open(args->files[0]->path, O_RDONLY | O_CLOEXEC);
        if (self->fd >= 0) (void)flock(self->fd, LOCK_EX | LOCK_NB);
    }
    return box_index_file(self, args, index, err);
}

static void faulty_close(void *source)
{
    if (((box *)source)->fd > 0) (void)close(((box *)source)->fd);
    box_close(source);
}
#define BOX_INDEX faulty_index
#define BOX_CLOSE faulty_close
#include "box_plugin.h"
