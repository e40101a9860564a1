/* What format a file looks like, for messages. */
#include "files/file_hint.h"

#include "core/error.h"
#include "files/codecs.h"
#include "files/input_files.h"
#include "pyflowdata/pyflowdata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What a file looks like ------------------------------------------------------------------ */

/* The size of a decompressed file is unknown. */
const char *pfd_file_looks_like(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                                const char *own)
{
    int64_t size = file->size < PFD_HINT_BYTES ? file->size : PFD_HINT_BYTES;
    for (; size > 0; size /= 2) {
        const uint8_t *data;
        pfd_error ignored = {.struct_size = sizeof ignored};
        if (host->read(file, 0, size, scratch, &data, &ignored) == PFD_OK)
            return host->looks_like(data, size, own);
    }
    return NULL;
}

const char *pfd_looks_like_hint(const char *seems, const char *otherwise, char *out,
                                size_t capacity)
{
    if (!seems) return otherwise;
    (void)snprintf(out, capacity, "; it looks like %s", seems);
    return out;
}

/* ---- The bytes of a file --------------------------------------------------------------------- */

struct pfd_file_bytes {
    pfd_input_files *files;
    pfd_inflater *from;
};

static const pfd_file *only_file(const pfd_file_bytes *self)
{
    int64_t n;
    return pfd_input_files_list(self->files, &n)[0];
}

pfd_status pfd_file_bytes_open(const char *path, pfd_file_bytes **out, pfd_error *err)
{
    char *paths[] = {(char *)(uintptr_t)path}; /* copied, never written */
    pfd_file_bytes *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, sizeof *self, "the bytes of a file");
    pfd_status status = pfd_input_files_open(paths, 1, PFD_FILE_ACCESS_READ, PFD_COMPRESSION_AUTO,
                                             NULL, &self->files, err);
    if (status == PFD_OK) {
        const pfd_file *file = only_file(self);
        status = pfd_inflater_open(file, pfd_file_compression(file), &self->from, err);
    }
    if (status == PFD_OK) *out = self;
    else pfd_file_bytes_close(self);
    return status;
}

pfd_status pfd_file_bytes_read(pfd_file_bytes *self, uint8_t *data, int64_t room, int64_t *size,
                               pfd_error *err)
{
    pfd_status status = PFD_OK;
    int64_t got = 1;
    for (*size = 0; status == PFD_OK && got > 0 && *size < room; *size += got)
        status = pfd_inflater_read(self->from, NULL, data + *size, room - *size, &got, err);
    return status;
}

void pfd_file_bytes_close(pfd_file_bytes *self)
{
    if (!self) return;
    pfd_inflater_close(self->from);
    if (self->files) pfd_input_files_close(self->files);
    free(self);
}

pfd_status pfd_file_head(const char *path, uint8_t *data, int64_t room, int64_t *size,
                         int64_t *file_size, const char **compression, pfd_error *damage,
                         pfd_error *err)
{
    pfd_error_clear(damage);
    pfd_file_bytes *from;
    PFD_TRY(pfd_file_bytes_open(path, &from, err));
    pfd_status status = pfd_file_bytes_read(from, data, room, size, damage);
    const pfd_file *file = only_file(from);
    *file_size = file->size;
    *compression = pfd_compression_name(pfd_file_compression(file));
    pfd_file_bytes_close(from);
    if (status == PFD_OK || status == PFD_CORRUPT_DATA) return PFD_OK;
    pfd_error_copy(err, damage);
    return status;
}

/* ---- Files of other programs ----------------------------------------------------------------- */

enum { head_bytes = 512 };

static const char *container_at(const char *path)
{
    uint8_t head[head_bytes];
    int64_t size, file_size;
    const char *compression;
    pfd_error damage = {.struct_size = sizeof damage}, err = {.struct_size = sizeof err};
    pfd_status status =
        pfd_file_head(path, head, sizeof head, &size, &file_size, &compression, &damage, &err);
    return status == PFD_OK ? pfd_foreign_container(head, size) : NULL;
}

pfd_status pfd_error_explain_file(pfd_error *err)
{
    char op[sizeof err->op], path[sizeof err->file];
    int32_t is_refused = err->status == PFD_CORRUPT_DATA || err->status == PFD_INVALID_ARGUMENT;
    const char *found = is_refused && err->file[0] ? container_at(err->file) : NULL;
    if (!found) return err->status;
    memcpy(op, err->op, sizeof op);
    memcpy(path, err->file, sizeof path);
    (void)pfd_fail(err, PFD_INVALID_ARGUMENT, "it looks like %s, which this op does not read",
                   found);
    pfd_error_set_op(err, op);
    pfd_error_set_file(err, path);
    return PFD_INVALID_ARGUMENT;
}
