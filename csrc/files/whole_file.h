/* files/whole_file.h -- files that are one sample each, such as images: opened, read and closed.
 *
 * A reader that opened all of them at once would need a descriptor and a mapping for each.
 * THREADS  Any.
 */
#ifndef PFD_FILES_WHOLE_FILE_H
#define PFD_FILES_WHOLE_FILE_H
#include "core/rows.h"

typedef struct pfd_whole_file {
    int folder;              /* a descriptor of the folder that the path is below */
    const char *path;
    const char *shown;       /* for messages; NULL: source->describe() adds the path to errors */
    const pfd_file *counted; /* a file of the reader's, as from which the bytes count */
} pfd_whole_file;

/* Reads the file; the bytes live as long as args->scratch.
 * ERRORS  Of row `row`.  PFD_CORRUPT_DATA: the file is missing, empty, cannot be read, or is no
 *         file.  PFD_IO: the process has no descriptor left. */
pfd_status pfd_whole_file_read(const pfd_compute_args *args, int64_t row,
                               const pfd_whole_file *file, pfd_bytes *out, pfd_error *err);

/* Bytes of such a file; 0 where it cannot be examined. */
int64_t pfd_whole_file_size(int folder, const char *path);

/* Mean size of n files, for record_bytes(): of a few of them, spread over all.  size_of() gives the
 * bytes of file i, 0 <= i < n. */
int64_t pfd_whole_files_mean(int64_t n, int64_t (*size_of)(void *ctx, int64_t i), void *ctx);
#endif
