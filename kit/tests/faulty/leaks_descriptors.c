/* Opens each file by itself, and never closes it.
 *
 * group: leaks
 * finding: leaks-descriptors
 * says: left 2 descriptors open: close them */
#include "box.h"

#include <fcntl.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    self->fd = open(args->files[index]->path, O_RDONLY);
    return box_index_file(self, args, index, err);
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
