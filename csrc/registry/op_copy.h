/* registry/op_copy.h -- copies descriptors into the structs of this library, from any version of
 * the header.
 *
 * OWNERSHIP  A copy is one piece of memory, for free(); the author keeps strings and functions.
 * ERRORS     PFD_INTERNAL names the field with an impossible size.
 */
#ifndef PFD_REGISTRY_OP_COPY_H
#define PFD_REGISTRY_OP_COPY_H
#include "pyflowdata/op.h"

/* Copies an op.  Fields that an older header did not have are zero, and a missing doc becomes "Not
 * documented."; fields that only a newer header has are dropped. */
pfd_status pfd_op_copy(const pfd_op *op, pfd_op **out, pfd_error *err);
#endif
