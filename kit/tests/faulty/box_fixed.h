/* box_fixed.h -- a reader of files that have nothing but records of 20 bytes: a check of box.h, for
 * a record with the number 0, and the payload.  A faulty plugin chooses the type of its numbers. */
#ifndef BOX_FIXED_H
#define BOX_FIXED_H
#include "box.h"

#ifndef FIXED_NUMBER
#define FIXED_NUMBER int64_t
#endif
enum { fixed_bytes = 4 + BOX_WIDTH };

/* An entry has the number of the file's first record. */
static pfd_status fixed_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    const pfd_file *file = args->files[index];
    if (file->size % fixed_bytes != 0)
        return args->host->fail_file(err, file, file->size / fixed_bytes * fixed_bytes,
                                     PFD_CORRUPT_DATA, "the last record is not whole");
    PFD_TRY(box_add(self, (box_entry){index, 0, self->position, 0, 0}, err));
    self->position += file->size / fixed_bytes;
    return PFD_OK;
}

static int64_t fixed_size(void *source)
{
    return ((box *)source)->position;
}

static pfd_status fixed_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                           pfd_record *out, pfd_error *err)
{
    const box *self = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t file = self->size - 1;
        while (file > 0 && self->entries[file].offset > ordinals[i]) file--;
        FIXED_NUMBER number = (FIXED_NUMBER)(ordinals[i] - self->entries[file].offset);
        FIXED_NUMBER offset = number * fixed_bytes;
        const uint8_t *data;
        pfd_status status =
            self->host->read(self->files[file], offset, fixed_bytes, scratch, &data, err);
        err->row = status == PFD_OK ? -1 : i;
        if (status != PFD_OK) return status;
        out[i] = (pfd_record){data, fixed_bytes, offset, ordinals[i], (int32_t)file, 0};
    }
    return PFD_OK;
}

static pfd_status fixed_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        const pfd_record *record = &args->records[row];
        if (box_check(0, record->data + 4, BOX_WIDTH) != box_u32(record->data))
            return args->host->fail_row(err, row, 0, PFD_CORRUPT_DATA, "the checksum is another");
        box_write(args, row);
    }
    return PFD_OK;
}
#define BOX_INDEX fixed_index
#define BOX_SIZE fixed_size
#define BOX_AT fixed_at
#define BOX_COMPUTE fixed_compute
#endif
