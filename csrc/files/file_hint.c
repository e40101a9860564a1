/* What format a file looks like, for messages. */
#include "files/file_hint.h"

#include "core/error.h"
#include "files/codecs.h"
#include "files/input_files.h"
#include "pyflowdata/pyflowdata.h"

#include <stdio.h>
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

/* ---- The beginning of a file ----------------------------------------------------------------- */

static pfd_status read_head(const pfd_file *file, int32_t compression, uint8_t *data, int64_t room,
                            int64_t *size, pfd_error *damage, pfd_error *err)
{
    pfd_inflater *from;
    PFD_TRY(pfd_inflater_open(file, compression, &from, err));
    pfd_status status = PFD_OK;
    int64_t got = 1;
    for (*size = 0; status == PFD_OK && got > 0 && *size < room; *size += got)
        status = pfd_inflater_read(from, NULL, data + *size, room - *size, &got, damage);
    pfd_inflater_close(from);
    if (status == PFD_OK || status == PFD_CORRUPT_DATA) return PFD_OK;
    pfd_error_copy(err, damage);
    return status;
}

pfd_status pfd_file_head(const char *path, uint8_t *data, int64_t room, int64_t *size,
                         int64_t *file_size, const char **compression, pfd_error *damage,
                         pfd_error *err)
{
    pfd_error_clear(damage);
    pfd_input_files *files;
    char *paths[] = {(char *)(uintptr_t)path}; /* copied, never written */
    PFD_TRY(pfd_input_files_open(paths, 1, PFD_FILE_ACCESS_READ, PFD_COMPRESSION_AUTO, NULL, &files,
                                 err));
    int64_t n, found = 0;
    const pfd_file *file = pfd_input_files_list(files, &n)[0];
    int32_t is = pfd_file_compression(file);
    pfd_status status = read_head(file, is, data, room, &found, damage, err);
    if (status == PFD_OK) {
        *size = found;
        *file_size = file->size;
        *compression = pfd_compression_name(is);
    }
    pfd_input_files_close(files);
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
