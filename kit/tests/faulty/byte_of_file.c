/* Says where a record is damaged by the offset in the file, where that in the record is asked for.
 *
 * group: damage: flipped
 * finding: byte-outside-record
 * says: err->byte = \d+ of record \d+, which has \d+ bytes: .*offset in the record
 * likely: record.offset is added */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) {
            err->byte += args->records[row].offset;
            return status;
        }
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
