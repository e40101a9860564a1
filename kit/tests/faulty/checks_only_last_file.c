/* Looks at checksums only in the last file: open() sets the flag that says so for each of them.
 *
 * group: damage: flipped
 * finding: damage-unnoticed
 * says: flipped in part-0\) .* of part-0, the \w+ of record \d+, flipped
 * likely: the checksum is not compared */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    self->fd = index; /* meant: this file has checksums */
    return box_index_file(self, args, index, err);
}

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    const box *self = args->source;
    for (int64_t row = 0; row < args->num_rows; row++) {
        if (args->records[row].file == self->fd) PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_INDEX faulty_index
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
