/* formats/tar/tar_propose.h -- the fields of a tar file's samples that the user left out. */
#ifndef PFD_FORMATS_TAR_TAR_PROPOSE_H
#define PFD_FORMATS_TAR_TAR_PROPOSE_H
#include "pyflowdata/op.h"

/* Sets `fields`, by the first `num_tars` paths, to the key and the extensions of the first samples,
 * in their order; those that are not in all of these samples are empty where there are none.
 * PFD_REASON_NO_RECORDS: the files are whole, and have no sample. */
pfd_status pfd_tar_propose(const pfd_propose_args *args, int64_t num_tars, pfd_error *err);
#endif
