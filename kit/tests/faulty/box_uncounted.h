/* box_uncounted.h -- an index of box files that goes to their end, whatever the header counts.  The
 * types of its numbers are defined before by a faulty plugin. */
#ifndef BOX_UNCOUNTED_H
#define BOX_UNCOUNTED_H
#include "box.h"

#ifndef UNCOUNTED_TOTAL
#define UNCOUNTED_TOTAL int64_t /* of records in all files */
#endif
#ifndef UNCOUNTED_FILE
#define UNCOUNTED_FILE int32_t /* of files */
#endif
#ifndef UNCOUNTED_ADD
#define UNCOUNTED_ADD box_add
#endif

static pfd_status uncounted_index(box *self, const pfd_open_args *args, int32_t index,
                                  pfd_error *err)
{
    const pfd_file *file = args->files[index];
    const uint8_t *header, *frame;
    PFD_TRY(args->host->read(file, 0, BOX_HEADER, args->scratch, &header, err));
    if (memcmp(header, "BOX1", 4) != 0)
        return args->host->fail_file(err, file, 0, PFD_CORRUPT_DATA, "this is no box file");
    int32_t number = 0;
    for (int64_t at = BOX_HEADER, size; at < file->size; at += 4 + size) {
        PFD_TRY(args->host->read(file, at, 4, args->scratch, &frame, err));
        size = box_u32(frame);
        if (size < 4 || size > 4 + BOX_WIDTH || size > file->size - at - 4)
            return args->host->fail_file(err, file, at, PFD_CORRUPT_DATA, "a record of %d",
                                         (int)size);
        box_entry entry = {(UNCOUNTED_FILE)index, number++, at + 4, size, 0};
        PFD_TRY(UNCOUNTED_ADD(self, entry, err));
    }
    return PFD_OK;
}

static int64_t uncounted_size(void *source)
{
    return (UNCOUNTED_TOTAL)((box *)source)->size;
}
#define BOX_INDEX uncounted_index
#define BOX_SIZE uncounted_size
#endif
