/* registry/node_ports.h -- makes the inputs and outputs of a node whose op leaves them to the user.
 *
 * OWNERSHIP  One piece of memory, for free(); names of outputs in it are copies.
 * ERRORS     PFD_INVALID_ARGUMENT names the attr and the element.
 */
#ifndef PFD_REGISTRY_NODE_PORTS_H
#define PFD_REGISTRY_NODE_PORTS_H
#include "registry/registry.h"

/* For an op with outputs_attr or PFD_MANY_INPUTS, or whose optional input was left out, *out is the
 * same op with one port declared for each blob of this node, so that other code need not know where
 * ports come from.  For other ops *out is NULL.  `attrs`: the node's values of the op's own
 * attrs. */
pfd_status pfd_node_ports_create(const pfd_registered_op *op, const void *attrs,
                                 const pfd_blob *inputs, int64_t num_inputs,
                                 pfd_registered_op **out, pfd_error *err);
#endif
