/* files/whole_file.h -- files that are one sample each, such as images: opened, read and closed.
 *
 * A reader that opened all of them at once would need a descriptor and a mapping for each.
 * THREADS  Any.
 */
#ifndef PFD_FILES_WHOLE_FILE_H
#define PFD_FILES_WHOLE_FILE_H
#include "core/rows.h"

/* Reads the file at `path` below the folder that `folder` is open on; the bytes live as long as
 * args->scratch, and count as read from `counted`, a file of the reader's.
 * ERRORS  Of row `row`, without the path: source->describe() adds it.  PFD_CORRUPT_DATA: the file is
 *         missing, empty, cannot be read, or is no file.  PFD_IO: the process has no descriptor
 *         left. */
pfd_status pfd_whole_file_read(const pfd_compute_args *args, int folder, const char *path,
                               const pfd_file *counted, int64_t row, pfd_bytes *out,
                               pfd_error *err);

/* Bytes of such a file; 0 where it cannot be examined. */
int64_t pfd_whole_file_size(int folder, const char *path);
#endif
