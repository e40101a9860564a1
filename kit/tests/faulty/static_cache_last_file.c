/* Keeps the file that it read last for all sources, by its index alone.
 *
 * group: two sources
 * finding: sources-mixed
 * says: of (the sample|a source over the last file alone) is another one
 * likely: thread_local or static cache that belongs to no source */
#include "box.h"

#include <stdio.h>

static _Thread_local struct whole_file {
    int32_t index;
    uint8_t bytes[4096];
} last = {.index = -1};

static pfd_status load(box *self, int32_t index, pfd_error *err)
{
    if (last.index == index) return PFD_OK;
    FILE *file = fopen(self->files[index]->path, "rb");
    if (!file) return self->host->fail_file(err, self->files[index], 0, PFD_IO, "cannot open it");
    (void)!fread(last.bytes, 1, sizeof last.bytes, file);
    (void)fclose(file);
    last.index = index;
    return PFD_OK;
}

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    box *self = source;
    for (int64_t i = 0; i < n; i++) {
        const box_entry *entry = &self->entries[ordinals[i]];
        PFD_TRY(load(self, entry->file, err));
        uint8_t *data = self->host->alloc(scratch, entry->size);
        if (!data) return self->host->fail(err, PFD_OUT_OF_MEMORY, "no memory");
        memcpy(data, last.bytes + entry->offset, (size_t)entry->size);
        out[i] = (pfd_record){data, entry->size, entry->offset, ordinals[i], entry->file, 0};
    }
    return PFD_OK;
}

#define BOX_AT faulty_at
#include "box_plugin.h"
