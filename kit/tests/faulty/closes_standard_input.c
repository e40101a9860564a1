/* Closes a descriptor that it opens only for large files: the field is 0 then.
 *
 * group: state
 * finding: closes-descriptor
 * says: close\(\) closed descriptor 0 \(standard input\)
 * likely: a field that stays 0 */
#include "box.h"

#include <fcntl.h>
#include <unistd.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    const pfd_file *file = args->files[index];
    if (file->size > 1 << 20) self->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    return box_index_file(self, args, index, err);
}

static void faulty_close(void *source)
{
    (void)close(((box *)source)->fd);
    box_close(source);
}
#define BOX_INDEX faulty_index
#define BOX_CLOSE faulty_close
#include "box_plugin.h"
