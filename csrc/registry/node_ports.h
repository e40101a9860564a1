/* registry/node_ports.h -- the inputs and outputs of one node, where its op leaves them to the
 * user.
 *
 * OWNERSHIP  One piece of memory, for free(); names of outputs in it are copies.
 * ERRORS     PFD_INVALID_ARGUMENT names the attr and the element.
 */
#ifndef PFD_REGISTRY_NODE_PORTS_H
#define PFD_REGISTRY_NODE_PORTS_H
#include "registry/registry.h"

/* Of an op with outputs_attr or PFD_MANY_INPUTS, or whose optional input was left out: the same op
 * with one port declared for each blob of this node, so that all who look at ports need not know
 * how they came about.  Of any other op *out is NULL.  `attrs`: the node's values of the op's own attrs. */
pfd_status pfd_node_ports_create(const pfd_registered_op *op, const void *attrs, int64_t num_inputs,
                                 pfd_registered_op **out, pfd_error *err);
#endif
