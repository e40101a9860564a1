/* box.h -- a small format, and a reader of it without a fault.  A faulty plugin replaces one of
 * these functions, and includes box_plugin.h after them.
 *
 * file:   "BOX1", count u32, check u32 (count ^ 0x5A5A5A5A), then count frames
 * frame:  size u32, then the record of so many bytes
 * record: check u32 (FNV-1a of ordinal in the file and payload), then 0 to 16 bytes of payload
 *
 * All numbers are little-endian. */
#ifndef BOX_H
#define BOX_H
#include "pyflowdata/op.h"

#include <stdlib.h>
#include <string.h>

#define BOX_UNUSED __attribute__((unused))
#define BOX_HEADER 12
#define BOX_WIDTH 16

typedef struct box_entry {
    int32_t file, number; /* of the record in its file */
    int64_t offset, size;
    int64_t label; /* of box_index.h */
} box_entry;

typedef struct box {
    const pfd_host *host;
    const pfd_file *const *files;
    box_entry *entries;
    int64_t size, capacity;
    int64_t position;    /* of a stream */
    const uint8_t *kept; /* for faults */
    int fd;              /* for faults */
    int64_t blocks[3];   /* first records, of blocks() */
} box;

BOX_UNUSED static uint32_t box_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

BOX_UNUSED static uint32_t box_check(int32_t number, const uint8_t *data, int64_t size)
{
    uint32_t hash = (2166136261u ^ (uint32_t)number) * 16777619u;
    for (int64_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 16777619u;
    return hash;
}

BOX_UNUSED static void box_close(void *source)
{
    box *self = source;
    free(self->entries);
    free(self);
}

BOX_UNUSED static pfd_status box_add(box *self, box_entry entry, pfd_error *err)
{
    if (self->size == self->capacity) {
        int64_t capacity = self->capacity ? 2 * self->capacity : 16;
        box_entry *grown = realloc(self->entries, (size_t)capacity * sizeof *grown);
        if (!grown) return self->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the index");
        self->entries = grown;
        self->capacity = capacity;
    }
    self->entries[self->size++] = entry;
    return PFD_OK;
}

BOX_UNUSED static pfd_status box_read_header(const pfd_open_args *args, const pfd_file *file,
                                             uint32_t *count, pfd_error *err)
{
    const uint8_t *header;
    PFD_TRY(args->host->read(file, 0, BOX_HEADER, args->scratch, &header, err));
    *count = box_u32(header + 4);
    if (memcmp(header, "BOX1", 4) != 0 || (*count ^ 0x5A5A5A5Au) != box_u32(header + 8))
        return args->host->fail_file(err, file, 0, PFD_CORRUPT_DATA, "this is no box file");
    return PFD_OK;
}

BOX_UNUSED static pfd_status box_index_file(box *self, const pfd_open_args *args, int32_t index,
                                            pfd_error *err)
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
        if (size < 4 || size > 4 + BOX_WIDTH || size > file->size - at - 4)
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

typedef pfd_status (*box_index_fn)(box *self, const pfd_open_args *args, int32_t index,
                                   pfd_error *err);

BOX_UNUSED static pfd_status box_open_with(const pfd_open_args *args, pfd_source *out,
                                           const pfd_source_methods *methods, box_index_fn index,
                                           pfd_error *err)
{
    box *self = calloc(1, sizeof *self);
    if (!self) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the source");
    self->host = args->host;
    self->files = args->files;
    for (int32_t i = 0; i < args->num_files; i++) {
        pfd_status status = index(self, args, i, err);
        if (status != PFD_OK) {
            box_close(self);
            return status;
        }
    }
    out->methods = methods;
    out->self = self;
    return PFD_OK;
}

BOX_UNUSED static int64_t box_size(void *source)
{
    return ((box *)source)->size;
}

BOX_UNUSED static pfd_status box_find(box *self, int64_t ordinal, pfd_scratch *scratch,
                                      pfd_record *out, pfd_error *err)
{
    const box_entry *entry = &self->entries[ordinal];
    const uint8_t *data;
    pfd_status status =
        self->host->read(self->files[entry->file], entry->offset, entry->size, scratch, &data, err);
    if (status == PFD_OK)
        *out = (pfd_record){data, entry->size, entry->offset, ordinal, entry->file, 0};
    return status;
}

BOX_UNUSED static pfd_status box_at(void *source, const int64_t *ordinals, int64_t n,
                                    pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        pfd_status status = box_find(source, ordinals[i], scratch, &out[i], err);
        if (status == PFD_OK) continue;
        err->row = i;
        return status;
    }
    return PFD_OK;
}

BOX_UNUSED static pfd_status box_next(void *source, int64_t max, pfd_scratch *scratch,
                                      pfd_record *out, int64_t *n, pfd_error *err)
{
    box *self = source;
    *n = 0;
    while (*n < max && self->position < self->size) {
        PFD_TRY(box_find(self, self->position, scratch, &out[*n], err));
        self->position++;
        ++*n;
    }
    return *n > 0 ? PFD_OK : PFD_END;
}

BOX_UNUSED static pfd_status box_seek(void *source, int64_t epoch, int64_t position,
                              pfd_scratch *scratch, pfd_error *err)
{
    (void)epoch, (void)scratch, (void)err;
    box *self = source;
    self->position = position < self->size ? position : self->size;
    return PFD_OK;
}

/* The number of a record in its file is not in pfd_record: all samples have 7 in the first. */
BOX_UNUSED static int32_t box_number(const pfd_record *record)
{
    return (int32_t)(record->ordinal - (record->file > 0 ? 7 : 0));
}

BOX_UNUSED static pfd_status box_verify(const pfd_compute_args *args, int64_t row, pfd_error *err)
{
    const pfd_record *record = &args->records[row];
    if (record->size < 4 || record->size > 4 + BOX_WIDTH ||
        box_check(box_number(record), record->data + 4, record->size - 4) != box_u32(record->data))
        return args->host->fail_row(err, row, 0, PFD_CORRUPT_DATA, "the checksum is another one");
    return PFD_OK;
}

BOX_UNUSED static void box_write(const pfd_compute_args *args, int64_t row)
{
    const pfd_record *record = &args->records[row];
    uint8_t *values = args->outputs[0]->data + row * args->outputs[0]->row_bytes;
    int64_t n = record->size - 4;
    memset(values, 0, BOX_WIDTH);
    memcpy(values, record->data + 4, (size_t)n);
    memcpy(args->outputs[1]->data + row * 8, &n, 8);
}

BOX_UNUSED static pfd_status box_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
    }
    return PFD_OK;
}
#endif
