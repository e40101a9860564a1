/* Closes its descriptor after open(), and once more in close().
 *
 * group: state
 * finding: closes-descriptor
 * says: close\(\) closed descriptor \d+, which was not open */
#include "box.h"

#include <fcntl.h>
#include <unistd.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    if (index > 0) return box_index_file(self, args, index, err);
    self->fd = open(args->files[index]->path, O_RDONLY | O_CLOEXEC);
    pfd_status status = box_index_file(self, args, index, err);
    (void)close(self->fd);
    return status;
}

static void faulty_close(void *source)
{
    (void)close(((box *)source)->fd);
    box_close(source);
}
#define BOX_INDEX faulty_index
#define BOX_CLOSE faulty_close
#include "box_plugin.h"
