/* box_index.h -- a reader of box files by their indexes, without a fault: beside part-N there is
 * part-N.idx.  A faulty plugin replaces one of these functions.
 *
 * index:  check u32 (FNV-1a of the number of entries and their bytes), then the entries
 * entry:  offset u32 of a record in its file, label u32, which output "size" then is */
#ifndef BOX_INDEX_H
#define BOX_INDEX_H
#include "box.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

BOX_UNUSED static pfd_status indexed_companions(const pfd_companion_args *args, pfd_error *err)
{
    char path[PATH_MAX];
    for (int64_t i = 0; i < args->num_paths; i++) {
        (void)snprintf(path, sizeof path, "%s.idx", args->paths[i]);
        PFD_TRY(args->add(args->list, path, err));
    }
    return PFD_OK;
}

BOX_UNUSED static pfd_status indexed_verify(const pfd_open_args *args, const pfd_file *index,
                                            const uint8_t *table, int64_t n, pfd_error *err)
{
    if (index->size != 4 + 8 * n || box_check((int32_t)n, table + 4, 8 * n) != box_u32(table))
        return args->host->fail_file(err, index, 0, PFD_CORRUPT_DATA, "this is no index of %d",
                                     (int)n);
    return PFD_OK;
}

/* The record of an entry of the index; its size stands before it. */
BOX_UNUSED static pfd_status indexed_add(box *self, const pfd_open_args *args, int32_t file,
                                         int32_t number, const uint8_t *entry, pfd_error *err)
{
    const pfd_file *data = args->files[file];
    int64_t offset = box_u32(entry);
    const uint8_t *frame;
    if (offset < 4)
        return args->host->fail_file(err, data, offset, PFD_CORRUPT_DATA, "no record begins here");
    PFD_TRY(args->host->read(data, offset - 4, 4, args->scratch, &frame, err));
    int64_t size = box_u32(frame);
    if (size < 4 || size > 4 + BOX_WIDTH || size > data->size - offset)
        return args->host->fail_file(err, data, offset - 4, PFD_CORRUPT_DATA, "a record of %d",
                                     (int)size);
    return box_add(self, (box_entry){file, number, offset, size, box_u32(entry + 4)}, err);
}

typedef pfd_status (*indexed_verify_fn)(const pfd_open_args *args, const pfd_file *index,
                                        const uint8_t *table, int64_t n, pfd_error *err);

BOX_UNUSED static pfd_status indexed_file_with(box *self, const pfd_open_args *args, int32_t file,
                                               indexed_verify_fn verify, pfd_error *err)
{
    if (file >= args->num_files / 2) return PFD_OK; /* an index itself */
    const pfd_file *index = args->files[args->num_files / 2 + file];
    const uint8_t *table;
    uint32_t count;
    PFD_TRY(box_read_header(args, args->files[file], &count, err));
    PFD_TRY(args->host->read(index, 0, 4 + 8 * (int64_t)count, args->scratch, &table, err));
    PFD_TRY(verify(args, index, table, count, err));
    for (uint32_t i = 0; i < count; i++)
        PFD_TRY(indexed_add(self, args, file, (int32_t)i, table + 4 + 8 * (size_t)i, err));
    return PFD_OK;
}

BOX_UNUSED static pfd_status indexed_file(box *self, const pfd_open_args *args, int32_t file,
                                          pfd_error *err)
{
    return indexed_file_with(self, args, file, indexed_verify, err);
}

BOX_UNUSED static void indexed_label(const pfd_compute_args *args, int64_t row)
{
    const box *self = args->source;
    memcpy(args->outputs[1]->data + row * 8, &self->entries[args->records[row].ordinal].label, 8);
}

BOX_UNUSED static pfd_status indexed_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
        indexed_label(args, row);
    }
    return PFD_OK;
}
#ifndef BOX_COMPANIONS
#define BOX_COMPANIONS indexed_companions
#endif
#ifndef BOX_INDEX
#define BOX_INDEX indexed_file
#endif
#ifndef BOX_COMPUTE
#define BOX_COMPUTE indexed_compute
#endif
#endif
