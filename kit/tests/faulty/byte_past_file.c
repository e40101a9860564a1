/* Says that a record ends too late by the place where it would end, which is past the file.
 *
 * group: damage: lengths
 * finding: byte-outside-file
 * says: open\(\) failed \("this is no box file, or it is cut"\) at byte \d+ of part-\d, which has
 * likely: computed from a length in the file */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    const pfd_file *file = args->files[index];
    pfd_status status = box_index_file(self, args, index, err);
    const uint8_t *frame;
    if (status != PFD_CORRUPT_DATA || err->byte < BOX_HEADER || err->byte > file->size - 4)
        return status;
    int64_t at = err->byte;
    PFD_TRY(args->host->read(file, at, 4, args->scratch, &frame, err));
    return args->host->fail_file(err, file, at + 4 + box_u32(frame), PFD_CORRUPT_DATA,
                                 "this is no box file, or it is cut");
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
