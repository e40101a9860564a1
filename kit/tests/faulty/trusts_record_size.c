/* Copies as many bytes as the size before a record says, however wide the row is.
 *
 * group: damage: resized
 * finding: writes-past-output
 * says: past the end of the \d+ bytes of output */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    const pfd_file *file = args->files[index];
    uint32_t count;
    pfd_status status = box_read_header(args, file, &count, err);
    int64_t at = BOX_HEADER;
    for (uint32_t i = 0; i < count && status == PFD_OK; i++) {
        const uint8_t *frame;
        status = args->host->read(file, at, 4, args->scratch, &frame, err);
        if (status != PFD_OK) return status;
        int64_t size = box_u32(frame);
        if (size < 4 || size > file->size - at - 4)
            return args->host->fail_file(err, file, at, PFD_CORRUPT_DATA, "a record of %u bytes",
                                         (unsigned)size);
        status = box_add(self, (box_entry){index, (int32_t)i, at + 4, size}, err);
        at += 4 + size;
    }
    if (status == PFD_OK && at != file->size)
        status =
            args->host->fail_file(err, file, at, PFD_CORRUPT_DATA, "bytes after the last record");
    return status;
}

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++) box_write(args, row);
    return PFD_OK;
}

#define BOX_INDEX faulty_index
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
