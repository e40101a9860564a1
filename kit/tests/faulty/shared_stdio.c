/* Reads its records through one FILE * of the source.
 *
 * group: threads
 * finding: threads-differ
 * says: several threads
 * likely: position all threads share \(descriptor \d+, .*part-\d: .* pread\(\) */
#include "box.h"

#include <stdio.h>

#define MOST_FILES 8

typedef struct shared {
    box box; /* first, so that the functions of box.h take it */
    FILE *files[MOST_FILES];
} shared;

static void faulty_close(void *source)
{
    shared *self = source;
    for (int i = 0; i < MOST_FILES; i++)
        if (self->files[i]) (void)fclose(self->files[i]);
    box_close(self);
}

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    shared *self = source;
    const pfd_host *host = self->box.host;
    for (int64_t i = 0; i < n; i++) {
        const box_entry *entry = &self->box.entries[ordinals[i]];
        FILE *file = self->files[entry->file];
        uint8_t *data = host->alloc(scratch, entry->size);
        if (!data) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the record");
        if (fseek(file, entry->offset, SEEK_SET) != 0 ||
            fread(data, 1, (size_t)entry->size, file) != (size_t)entry->size)
            return host->fail_row(err, i, 0, PFD_CORRUPT_DATA, "the file ends in the record");
        out[i] = (pfd_record){data, entry->size, entry->offset, ordinals[i], entry->file, 0};
    }
    return PFD_OK;
}

static pfd_status faulty_open(const pfd_open_args *args, pfd_source *out, pfd_error *err);

#define BOX_CLOSE faulty_close
#define BOX_AT faulty_at
#define BOX_OPEN faulty_open
#include "box_plugin.h"

static pfd_status faulty_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    PFD_TRY(box_open_with(args, out, &box_methods, box_index_file, err));
    shared *self = realloc(out->self, sizeof *self);
    if (!self) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the source");
    memset(self->files, 0, sizeof self->files);
    for (int64_t i = 0; i < args->num_files && i < MOST_FILES; i++)
        self->files[i] = fopen(args->files[i]->path, "rb");
    out->self = self;
    return PFD_OK;
}
