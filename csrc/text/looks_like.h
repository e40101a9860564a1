/* text/looks_like.h -- what a file seems to be that is not what it should be, for messages. */
#ifndef PFD_TEXT_LOOKS_LIKE_H
#define PFD_TEXT_LOOKS_LIKE_H
#include <stdint.h>

/* "gzip", "a tar archive", "text" ..., from the first bytes of a file; NULL: nothing known.  512
 * bytes are enough; what needs more of them than there are is not found. */
const char *pfd_looks_like(const uint8_t *data, int64_t size);
#endif
