/* Decompresses files into memory, so that their bytes can be read in any order. */
#include "sources/inflated_files.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/scratch.h"
#include "files/codecs.h"
#include "files/file_read.h"
#include "sources/wrapped_source.h"

#include <inttypes.h>
#include <stdlib.h>

struct pfd_inflated_files {
    int64_t num_inflated;
    pfd_input_file *copies; /* owned, with the bytes of the decompressed ones */
    const pfd_file **files;
    int64_t n;
};

/* Bytes that the compressed files of a reader may take together. */
static int64_t most_bytes(const pfd_scratch *bounds)
{
    int64_t quarter = pfd_memory_limit() / 4, bound = pfd_scratch_most_bytes(bounds);
    return quarter < bound ? quarter : bound;
}

/* Makes a file in memory, which has only a size and bytes, at most so many. */
static pfd_status inflate(pfd_inflated_files *self, int64_t i, int32_t compression, int64_t most,
                          const pfd_scratch *bounds, pfd_error *err)
{
    const pfd_file *file = self->files[i];
    pfd_input_file *copy = &self->copies[i];
    pfd_inflated inflated = {0};
    copy->file = *file;
    pfd_status status = pfd_inflate_file(file, compression, most, bounds, &inflated, err);
    copy->data = inflated.data;
    copy->file.size = inflated.size;
    if (status == PFD_CORRUPT_DATA && inflated.size == most)
        return pfd_fail_at(err, file, -1, PFD_OUT_OF_MEMORY,
                           "it is decompressed as a whole, and the compressed files of a reader "
                           "may take %" PRId64 " bytes in memory, a quarter of what this process "
                           "may use, or memory_budget; raise memory_budget or decompress the files",
                           most_bytes(bounds));
    if (status != PFD_OK) return status;
    copy->methods = &pfd_mapped_file;
    copy->fd = -1;
    copy->compression = PFD_COMPRESSION_NONE;
    self->files[i] = &copy->file;
    self->num_inflated++;
    return PFD_OK;
}

pfd_status pfd_inflated_files_open(const pfd_file *const *files, int64_t n,
                                   const pfd_scratch *bounds, pfd_inflated_files **out,
                                   pfd_error *err)
{
    pfd_inflated_files *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "decompressed files");
    self->n = n;
    self->copies = calloc((size_t)n + 1, sizeof *self->copies);
    self->files = calloc((size_t)n + 1, sizeof *self->files);
    pfd_status status = self->copies && self->files
                            ? PFD_OK
                            : pfd_fail_memory(err, n, "the table of files");
    int64_t most = most_bytes(bounds);
    for (int64_t i = 0; status == PFD_OK && i < n; i++) {
        int32_t compression = pfd_file_compression(files[i]);
        self->files[i] = files[i];
        if (compression <= PFD_COMPRESSION_NONE) continue;
        status = inflate(self, i, compression, most, bounds, err);
        most -= self->copies[i].file.size;
    }
    if (status == PFD_OK)
        *out = self;
    else
        pfd_inflated_files_close(self);
    return status;
}

void pfd_inflated_files_close(pfd_inflated_files *self)
{
    if (!self) return;
    for (int64_t i = 0; self->copies && i < self->n; i++)
        free((uint8_t *)(uintptr_t)self->copies[i].data);
    free(self->copies);
    free(self->files);
    free(self);
}

const pfd_file *const *pfd_inflated_files_list(const pfd_inflated_files *self)
{
    return self->files;
}

static void free_files(void *files)
{
    pfd_inflated_files_close(files);
}

pfd_status pfd_inflated_files_give(pfd_inflated_files *self, pfd_source *source, pfd_error *err)
{
    const pfd_source_wrap wrap = {
        .state = self, .free_state = free_files, .hides_places = self->num_inflated > 0};
    return pfd_source_wrap_open(&wrap, source, err);
}
