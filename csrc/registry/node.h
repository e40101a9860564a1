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

/* As pfd_node_create(), of an op that is not a reader, with the types of the inputs' rows in place
 * of blobs: the node has no nodes upstream, and is for loader/rows/eager.c alone. */
pfd_status pfd_node_create_on_rows(const char *op, const char *name, const pfd_attr_value *values,
                                   int64_t num_values, const pfd_row_type *inputs,
                                   int64_t num_inputs, pfd_node **out, pfd_error *err);
#endif
