/* registry/descriptor.h -- checks the rules for op descriptors.
 *
 * ERRORS  PFD_INTERNAL, with the op and the field: a fault of the op's author.
 */
#ifndef PFD_REGISTRY_DESCRIPTOR_H
#define PFD_REGISTRY_DESCRIPTOR_H
#include "pyflowdata/op.h"

/* Checks the descriptor by itself.  PFD_INTERNAL names the op and the field at fault. */
pfd_status pfd_descriptor_check(const pfd_op *op, pfd_error *err);

/* Checks an attr table that belongs to `owner`: names, types, offsets, defaults, docs. */
pfd_status pfd_attr_table_check(const char *owner, const pfd_attr *table, uint32_t count,
                                uint32_t struct_size, pfd_error *err);

/* Checks that the names a user can give to an op differ: its inputs, its attrs, and "name". */
pfd_status pfd_descriptor_check_names(const pfd_op *op, pfd_error *err);

/* Whether a name can be a parameter in Python and a member of a C struct: lower_snake_case, at most
 * 63 letters. */
int32_t pfd_is_snake_case(const char *name);

/* Whether a doc is a text that ends with a period. */
int32_t pfd_is_sentence(const char *doc);
#endif
