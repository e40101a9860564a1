/* Compares the checksum of the index, which is the last file, and none of the records.
 *
 * group: damage: flipped
 * finding: damage-unnoticed
 * says: flipped in part-1\) .* byte \d+ of part-1, the (head|middle|tail) of record \d+, flipped
 * likely: the checksum is not compared
 * sample: indexed */
#include "box.h"
static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err);
#define BOX_COMPUTE faulty_compute
#include "box_index.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++) {
        box_write(args, row);
        indexed_label(args, row);
    }
    return PFD_OK;
}

#include "box_plugin.h"
