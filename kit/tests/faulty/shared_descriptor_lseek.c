/* Reads its records with lseek() and read() on one descriptor of the source.
 *
 * group: threads
 * finding: threads-differ
 * says: several threads
 * likely: position all threads share \(descriptor \d+, .*part-0: .* pread\(\) */
#include "box.h"

#include <fcntl.h>
#include <unistd.h>

static void faulty_close(void *source)
{
    if (((box *)source)->fd > 0) close(((box *)source)->fd);
    box_close(source);
}

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    box *self = source;
    for (int64_t i = 0; i < n; i++) {
        const box_entry *entry = &self->entries[ordinals[i]];
        PFD_TRY(box_find(self, ordinals[i], scratch, &out[i], err));
        if (entry->file > 0) continue;
        uint8_t *data = self->host->alloc(scratch, entry->size);
        if (!data) return self->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the record");
        (void)lseek(self->fd, entry->offset, SEEK_SET);
        if (read(self->fd, data, (size_t)entry->size) != entry->size)
            return self->host->fail_row(err, i, 0, PFD_CORRUPT_DATA, "the file ends here");
        out[i].data = data;
    }
    return PFD_OK;
}

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    if (index == 0) self->fd = open(args->files[0]->path, O_RDONLY | O_CLOEXEC);
    pfd_status status = box_index_file(self, args, index, err);
    if (status != PFD_OK && self->fd > 0) close(self->fd);
    return status;
}

#define BOX_CLOSE faulty_close
#define BOX_AT faulty_at
#define BOX_INDEX faulty_index
#include "box_plugin.h"
