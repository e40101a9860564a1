/* registry/inferred_attrs.h -- infers from the files the attrs that the user left out.
 *
 * They become attrs of the node like those that the user gave: later code sees no difference.
 */
#ifndef PFD_REGISTRY_INFERRED_ATTRS_H
#define PFD_REGISTRY_INFERRED_ATTRS_H
#include "registry/node_fields.h"

/* Calls the op's propose() if an attr with PFD_ATTR_FOUND is not among the given values.  After
 * this call the attrs of the node are complete.  Files are opened, read in pieces, not mapped,
 * and closed again. */
pfd_status pfd_node_infer_attrs(pfd_node *node, const pfd_attr_value *given, int64_t num_given,
                                pfd_error *err);
#endif
