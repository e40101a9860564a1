/* registry/descriptor.h -- copies the descriptors of ops and formats, and checks their rules.
 *
 * ERRORS  PFD_INTERNAL, with the op or format and the field: a fault of the author.
 */
#ifndef PFD_REGISTRY_DESCRIPTOR_H
#define PFD_REGISTRY_DESCRIPTOR_H
#include "pyflowdata/op.h"

/* Copies an op.  Fields that an older header lacks are zero, and a missing doc becomes "Not
 * documented."; fields of a newer header are dropped. */
pfd_status pfd_op_copy(const pfd_op *op, pfd_op **out, pfd_error *err);

pfd_status pfd_descriptor_check(const pfd_op *op, pfd_error *err);

/* Checks an attr table that belongs to `owner`: names, types, offsets, defaults, docs. */
pfd_status pfd_attr_table_check(const char *owner, const pfd_attr *table, uint32_t count,
                                uint32_t struct_size, pfd_error *err);

/* Checks that the names a user can give to an op differ: its inputs, its attrs, and "name". */
pfd_status pfd_descriptor_check_names(const pfd_op *op, pfd_error *err);

/* ---- Formats --------------------------------------------------------------------------------- */

/* Copies the fields that the author's header had; the others are zero. */
pfd_status pfd_format_copy(const pfd_format *author, pfd_format *out, pfd_error *err);

/* Checks a copy.  `find_op` returns NULL for a name that is not an op. */
pfd_status pfd_format_check(const pfd_format *format, const pfd_op *(*find_op)(const char *name),
                            pfd_error *err);
#endif
