/* Gives each row a number of its source, which is a hash of the whole path.
 *
 * group: state
 * finding: path-dependent
 * says: row \d+ is another one when the same files lie in
 * likely: a hash, a key or a label of the whole path */
#include "box.h"

static void faulty_write(const pfd_compute_args *args, int64_t row)
{
    const box *self = args->source;
    const char *path = self->files[args->records[row].file]->path;
    uint8_t *out = args->outputs[0]->data + row * args->outputs[0]->row_bytes;
    for (; *path; path++) out[0] = (uint8_t)(31 * out[0] + (uint8_t)*path);
}

#define BOX_ROW faulty_write
#include "box_plugin.h"
