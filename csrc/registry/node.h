/* registry/node.h -- one use of an op in a graph.
 *
 * OWNERSHIP  Reference-counted; a node owns references to the nodes of its inputs.
 * THREADS    Immutable after creation: any thread.
 * ERRORS     All errors in attrs and types are reported at creation, with the op's name.
 */
#ifndef PFD_REGISTRY_NODE_H
#define PFD_REGISTRY_NODE_H
#include "registry/node_fields.h"

/* Takes one more reference and returns the node. */
pfd_node *pfd_node_retain(pfd_node *node);
#endif
