/* registry/format_check.h -- the rules that every descriptor of a file format obeys.
 *
 * ERRORS  A fault is the author's: PFD_INTERNAL, with format and field.
 */
#ifndef PFD_REGISTRY_FORMAT_CHECK_H
#define PFD_REGISTRY_FORMAT_CHECK_H
#include "pyflowdata/op.h"

/* Copies a descriptor as far as its author's header went; fields that it did not have are zero. */
pfd_status pfd_format_copy(const pfd_format *author, pfd_format *out, pfd_error *err);

/* Checks a copy.  `find_op` gives NULL for what is not the name of an op. */
pfd_status pfd_format_check(const pfd_format *format, const pfd_op *(*find_op)(const char *name),
                            pfd_error *err);
#endif
