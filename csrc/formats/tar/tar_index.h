/* formats/tar/tar_index.h -- index files that DALI makes of tar files: whether they are of these.
 *
 * Each begins "v1.2 SAMPLES", and has a line of "extension offset size name" for each sample; in
 * v1.1 without names.
 *
 * ERRORS  PFD_CORRUPT_DATA with the place in the index file, what it says and what is there.
 */
#ifndef PFD_FORMATS_TAR_TAR_INDEX_H
#define PFD_FORMATS_TAR_TAR_INDEX_H
#include "pyflowdata/op.h"

/* Compares the index files, those of args->files from `num_tars` on, with the samples of the source
 * that the others are. */
pfd_status pfd_tar_indexes_check(const pfd_open_args *args, int64_t num_tars,
                                 const pfd_source *source, pfd_error *err);
#endif
