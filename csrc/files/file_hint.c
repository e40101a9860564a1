/* What format a file looks like, for messages. */
#include "files/file_hint.h"

#include <stdio.h>

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
