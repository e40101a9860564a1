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

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
        faulty_write(args, row);
    }
    return PFD_OK;
}
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
