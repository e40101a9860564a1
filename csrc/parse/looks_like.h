/* parse/looks_like.h -- what a file seems to be that is not what it should be, for messages. */
#ifndef PFD_PARSE_LOOKS_LIKE_H
#define PFD_PARSE_LOOKS_LIKE_H
#include "pyflowdata/op.h"

/* "gzip", "a tar archive (TarReader reads it)", "text" ..., from the first bytes of a file; NULL:
 * nothing known, or what begins with `own`, the name of what it should be (NULL: none).  512 bytes
 * are enough; what needs more of them than there are is not found. */
const char *pfd_looks_like(const uint8_t *data, int64_t size, const char *own);

/* The same of a file that is open: what cannot be read is not known. */
const char *pfd_file_looks_like(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                                const char *own);

/* "gzip" or "zstd", of which 4 bytes are enough; NULL: neither. */
const char *pfd_looks_compressed(const uint8_t *data, int64_t size);

/* What those say as the end of a message, "; it looks like gzip", or what there is to say
 * otherwise. */
const char *pfd_looks_like_hint(const char *seems, const char *otherwise, char *out,
                                size_t capacity);
#endif
