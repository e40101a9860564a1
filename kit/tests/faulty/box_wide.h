/* box_wide.h -- an index of box files that takes records of any length, as long as they are in the
 * file: for files of more than 2 GB.  The types of its numbers are defined before by a faulty
 * plugin. */
#ifndef BOX_WIDE_H
#define BOX_WIDE_H
#include "box.h"

#ifndef WIDE_OFFSET
#define WIDE_OFFSET int64_t /* of a place in a file */
#endif
#ifndef WIDE_SIZE
#define WIDE_SIZE int64_t /* of a file's bytes */
#endif

static pfd_status wide_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    const pfd_file *file = args->files[index];
    WIDE_SIZE size = (WIDE_SIZE)file->size;
    WIDE_OFFSET at = BOX_HEADER;
    uint32_t count;
    PFD_TRY(box_read_header(args, file, &count, err));
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *frame;
        PFD_TRY(args->host->read(file, at, 4, args->scratch, &frame, err));
        int64_t bytes = box_u32(frame);
        if (bytes < 4 || bytes > size - at - 4)
            return args->host->fail_file(err, file, at, PFD_CORRUPT_DATA, "a record of %lld",
                                         (long long)bytes);
        PFD_TRY(box_add(self, (box_entry){index, (int32_t)i, at + 4, bytes, 0}, err));
        at = (WIDE_OFFSET)(at + 4 + bytes);
    }
    if (at != size)
        return args->host->fail_file(err, file, -1, PFD_CORRUPT_DATA, "bytes after the last one");
    return PFD_OK;
}
#define BOX_INDEX wide_index
#endif
