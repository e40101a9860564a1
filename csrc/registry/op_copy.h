/* registry/op_copy.h -- descriptors as this library knows them, whatever header their author had.
 *
 * OWNERSHIP  A copy is one piece of memory, for free(); strings and functions stay the author's.
 * ERRORS     PFD_INTERNAL names the field whose size cannot be.
 */
#ifndef PFD_REGISTRY_OP_COPY_H
#define PFD_REGISTRY_OP_COPY_H
#include "pyflowdata/op.h"

/* A copy with all sizes of this library.  Fields that an older header did not have are zero, a doc
 * that it did not have says so; fields that only a newer header has are dropped. */
pfd_status pfd_op_copy(const pfd_op *op, pfd_op **out, pfd_error *err);
#endif
