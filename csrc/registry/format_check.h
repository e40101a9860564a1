/* registry/format_check.h -- checks the rules for descriptors of file formats.
 *
 * ERRORS  PFD_INTERNAL, with the format and the field: a fault of the author.
 */
#ifndef PFD_REGISTRY_FORMAT_CHECK_H
#define PFD_REGISTRY_FORMAT_CHECK_H
#include "pyflowdata/op.h"

/* Copies the fields that the author's header had; the others are zero. */
pfd_status pfd_format_copy(const pfd_format *author, pfd_format *out, pfd_error *err);

/* Checks a copy.  `find_op` returns NULL for a name that is not an op. */
pfd_status pfd_format_check(const pfd_format *format, const pfd_op *(*find_op)(const char *name),
                            pfd_error *err);
#endif
