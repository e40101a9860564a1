/* io/input_files.h -- the opened files of a reader: mapped, guarded, fingerprinted.
 *
 * A file is mapped whole and read-only. When another process cuts it short, a touch past its new
 * end would raise SIGBUS; a handler puts zero pages there and marks the files as changed, and
 * pfd_input_files_check() turns the mark into an error.  A signal that is not ours goes to the
 * handler that was there before.
 *
 * OWNERSHIP  Paths and bytes in the list live until close.
 * THREADS    check() and the bytes: any thread.  open and close: one.
 * ERRORS     PFD_IO, with the path and what was found.
 */
#ifndef PFD_IO_INPUT_FILES_H
#define PFD_IO_INPUT_FILES_H
#include "pyflowdata/op.h"

typedef struct pfd_input_files pfd_input_files;

/* What an op sees of a file, and its bytes. */
typedef struct pfd_input_file {
    pfd_file file;
    const uint8_t *data;
} pfd_input_file;

static inline const uint8_t *pfd_file_data(const pfd_file *file)
{
    return ((const pfd_input_file *)(const void *)file)->data;
}

/* host->read(). */
pfd_status pfd_file_read(const pfd_file *file, int64_t offset, int64_t size, pfd_scratch *scratch,
                         const uint8_t **data, pfd_error *err);

/* Opens all paths (copied).  PFD_IO names the path and the reason. */
pfd_status pfd_input_files_open(char *const *paths, int64_t n, pfd_input_files **out,
                                pfd_error *err);
void pfd_input_files_close(pfd_input_files *files); /* accepts NULL */

const pfd_file *const *pfd_input_files_list(const pfd_input_files *files, int64_t *n);

/* Cheap, for every batch: PFD_IO once a SIGBUS struck in one of these files. */
pfd_status pfd_input_files_check(const pfd_input_files *files, pfd_error *err);

/* Looks at the disk, for every epoch and after every failure: PFD_IO when a file has vanished,
 * or its size or modification time is another one than at open. */
pfd_status pfd_input_files_check_disk(const pfd_input_files *files, pfd_error *err);

/* Of base names, sizes and sampled content (the same on another machine with equal files). */
uint64_t pfd_input_files_fingerprint(const pfd_input_files *files);
int64_t pfd_input_files_bytes(const pfd_input_files *files);
#endif
