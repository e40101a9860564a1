/* A reader without a fault: the first file by pread(), the others by a FILE * each, whose seek and
 * read a lock of the source keeps together. */
#include "box.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define MOST_FILES 8

typedef struct locked {
    box box; /* first, so that the functions of box.h take it */
    pthread_mutex_t lock;
    FILE *files[MOST_FILES];
} locked;

static void close_files(void *source)
{
    locked *self = source;
    for (int i = 0; i < MOST_FILES; i++)
        if (self->files[i]) (void)fclose(self->files[i]);
    (void)pthread_mutex_destroy(&self->lock);
    box_close(self);
}

static int64_t read_at(locked *self, const box_entry *entry, uint8_t *data)
{
    FILE *file = self->files[entry->file];
    if (entry->file == 0) return pread(fileno(file), data, (size_t)entry->size, entry->offset);
    (void)pthread_mutex_lock(&self->lock);
    int64_t n = -1;
    if (fseek(file, entry->offset, SEEK_SET) == 0)
        n = (int64_t)fread(data, 1, (size_t)entry->size, file);
    (void)pthread_mutex_unlock(&self->lock);
    return n;
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    locked *self = source;
    const pfd_host *host = self->box.host;
    for (int64_t i = 0; i < n; i++) {
        const box_entry *entry = &self->box.entries[ordinals[i]];
        uint8_t *data = host->alloc(scratch, entry->size);
        if (!data) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the record");
        if (read_at(self, entry, data) != entry->size)
            return host->fail_row(err, i, 0, PFD_CORRUPT_DATA, "the file ends in the record");
        out[i] = (pfd_record){data, entry->size, entry->offset, ordinals[i], entry->file, 0};
    }
    return PFD_OK;
}

static pfd_status open_files(const pfd_open_args *args, pfd_source *out, pfd_error *err);

#define BOX_CLOSE close_files
#define BOX_AT at
#define BOX_OPEN open_files
#include "box_plugin.h"

static pfd_status open_files(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    if (args->num_files > MOST_FILES)
        return args->host->fail(err, PFD_UNSUPPORTED, "more than %d files", MOST_FILES);
    PFD_TRY(box_open_with(args, out, &box_methods, box_index_file, err));
    locked *self = calloc(1, sizeof *self);
    if (!self) {
        box_close(out->self);
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the source");
    }
    self->box = *(box *)out->self;
    free(out->self);
    (void)pthread_mutex_init(&self->lock, NULL);
    for (int64_t i = 0; i < args->num_files; i++)
        if (!(self->files[i] = fopen(args->files[i]->path, "rb"))) {
            close_files(self);
            return args->host->fail_file(err, args->files[i], 0, PFD_IO, "it cannot be opened");
        }
    out->self = self;
    return PFD_OK;
}
