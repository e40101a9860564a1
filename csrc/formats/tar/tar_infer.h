/* formats/tar/tar_infer.h -- infers the fields of a tar file's samples. */
#ifndef PFD_FORMATS_TAR_TAR_INFER_H
#define PFD_FORMATS_TAR_TAR_INFER_H
#include "pyflowdata/op.h"

/* Sets `fields` to the key and the extensions of the first samples of the first `num_tars`
 * paths, in their order.  An extension that some of these samples lack gets an empty default.
 * PFD_REASON_NO_RECORDS: the files are intact, but have no sample. */
pfd_status pfd_tar_infer(const pfd_propose_args *args, int64_t num_tars, pfd_error *err);
#endif
