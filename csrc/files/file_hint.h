/* files/file_hint.h -- what a file looks like, for the message of a reader that cannot read it. */
#ifndef PFD_FILES_FILE_HINT_H
#define PFD_FILES_FILE_HINT_H
#include "pyflowdata/op.h"

enum { PFD_HINT_BYTES = 512 }; /* first bytes of a file, enough for host->looks_like() */

/* host->looks_like() of an open file; NULL also where its first bytes cannot be read. */
const char *pfd_file_looks_like(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                                const char *own);

/* Its result as the end of a message, "; it looks like gzip"; `otherwise` where it is NULL. */
const char *pfd_looks_like_hint(const char *seems, const char *otherwise, char *out,
                                size_t capacity);

/* Reads the beginning of the file that *err names, if its content was refused.  For Parquet, a zip
 * archive and the like, the failure becomes PFD_INVALID_ARGUMENT with a message that says how to
 * convert the file; other failures stay.  Returns err->status. */
pfd_status pfd_error_explain_file(pfd_error *err);
#endif
