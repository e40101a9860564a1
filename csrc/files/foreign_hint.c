/* Replaces what a reader says of the bytes of a file by what the file is. */
#include "files/foreign_hint.h"

#include "core/error.h"
#include "files/compression.h"
#include "parse/first_bytes.h"
#include "pyflowdata/pyflowdata.h"

#include <string.h>

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
