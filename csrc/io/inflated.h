/* io/inflated.h -- files that may be compressed, as files whose bytes can be had in any order:
 * those that are have their bytes in memory as a whole.
 *
 * For files that are small, like MNIST's.
 * OWNERSHIP  The files given are borrowed until close.
 * THREADS    open and close: one.  The files: any.
 * ERRORS     Places in a decompressed file are those of its decompressed bytes.
 */
#ifndef PFD_IO_INFLATED_H
#define PFD_IO_INFLATED_H
#include "pyflowdata/op.h"

typedef struct pfd_inflated pfd_inflated;

pfd_status pfd_inflated_open(const pfd_file *const *files, int64_t n, pfd_inflated **out,
                             pfd_error *err);
void pfd_inflated_close(pfd_inflated *inflated); /* accepts NULL */

/* As many, in the same order; those that are not compressed are the ones given. */
const pfd_file *const *pfd_inflated_files(const pfd_inflated *inflated);

/* Makes a random-access source over these files one that owns them, too. */
void pfd_inflated_give(pfd_inflated *inflated, pfd_source *source);
#endif
