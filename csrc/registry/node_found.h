/* registry/node_found.h -- infers attrs from the files, where a user left them out.
 *
 * They become attrs of the node like those that were given: later code sees no difference.
 */
#ifndef PFD_REGISTRY_NODE_FOUND_H
#define PFD_REGISTRY_NODE_FOUND_H
#include "registry/node_fields.h"

/* Calls the op's propose() where an attr with PFD_ATTR_FOUND is not among the values given; the
 * node's attrs are complete from here on.  Files are opened to be read piece by piece, and closed
 * again. */
pfd_status pfd_node_find_attrs(pfd_node *node, const pfd_attr_value *given, int64_t num_given,
                               pfd_error *err);
#endif
