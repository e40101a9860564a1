/* sources/inflated_files.h -- decompresses files into memory as a whole, so that their bytes can be
 * read in any order.
 *
 * For small files, such as MNIST's.
 * OWNERSHIP  The files given are borrowed until close.
 * THREADS    open and close: one.  The files: any.
 * ERRORS     Places in a decompressed file are those of its decompressed bytes.
 */
#ifndef PFD_SOURCES_INFLATED_FILES_H
#define PFD_SOURCES_INFLATED_FILES_H
#include "pyflowdata/op.h"

typedef struct pfd_inflated_files pfd_inflated_files;

/* Opens the files.  While it decompresses, `bounds` says whether the loader is closing.
 * PFD_OUT_OF_MEMORY: they take more than it allows, or more than a quarter of the memory of the
 * process. */
pfd_status pfd_inflated_files_open(const pfd_file *const *files, int64_t n,
                                   const pfd_scratch *bounds, pfd_inflated_files **out,
                                   pfd_error *err);
void pfd_inflated_files_close(pfd_inflated_files *inflated); /* accepts NULL */

/* The files, in the same order; those that are not compressed are the given ones. */
const pfd_file *const *pfd_inflated_files_list(const pfd_inflated_files *inflated);

/* Makes a random-access source over these files own them too.  It takes ownership of both, even
 * if it fails. */
pfd_status pfd_inflated_files_give(pfd_inflated_files *inflated, pfd_source *source,
                                   pfd_error *err);
#endif
