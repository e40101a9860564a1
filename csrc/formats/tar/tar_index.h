/* formats/tar/tar_index.h -- checks that the index files of DALI agree with the tar files.
 *
 * Each begins "v1.2 SAMPLES", and has a line of "extension offset size name" for each sample; in
 * v1.1 without names.
 *
 * ERRORS  PFD_CORRUPT_DATA with the place in the index file, and what the index and the tar have.
 */
#ifndef PFD_FORMATS_TAR_TAR_INDEX_H
#define PFD_FORMATS_TAR_TAR_INDEX_H
#include "pyflowdata/op.h"

/* Compares the index files with the samples of the source.  args->files has `num_tars` tar
 * files, then the index files; the source reads the tar files. */
pfd_status pfd_tar_indexes_check(const pfd_open_args *args, int64_t num_tars,
                                 const pfd_source *source, pfd_error *err);
#endif
