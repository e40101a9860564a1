/* sources/host_outputs.h -- the outputs that every reader has besides its own, which the host
 * fills. */
#ifndef PFD_SOURCES_HOST_OUTPUTS_H
#define PFD_SOURCES_HOST_OUTPUTS_H
#include "pyflowdata/op.h"

enum { PFD_HOST_OUTPUT_COUNT = 2 };

/* mask: bool, scalar per row; id: int64 (2,), file index and ordinal. */
extern const pfd_port pfd_host_outputs[PFD_HOST_OUTPUT_COUNT];
#endif
