/* registry/node_order.h -- which data set the rows of a node are of, and the fields of views.
 *
 * Every blob has its rows in the order of one reader or view, or it comes from several of them, in
 * the same batches, which only a loader can pair.  Views need the first.
 *
 * THREADS  As registry/node.h.
 */
#ifndef PFD_REGISTRY_NODE_ORDER_H
#define PFD_REGISTRY_NODE_ORDER_H
#include "registry/node_fields.h"

/* Sets node->order, after its inputs are known.  PFD_INVALID_ARGUMENT: the node is a view, and its
 * inputs are not the fields of data sets, as its kind needs them. */
pfd_status pfd_node_find_order(pfd_node *node, pfd_error *err);

/* How many inputs of a view are of each of its data sets: the end of the `i`-th run of inputs that
 * begins at `begin`. */
int64_t pfd_node_end_of_source(const pfd_node *node, int64_t begin);

/* The outputs of a view whose attr `fields` is empty: the names of its inputs.  *names has an array
 * to free; the texts are the inputs'. */
pfd_status pfd_view_field_names(const pfd_registered_op *op, const void *attrs,
                                const pfd_blob *inputs, int64_t num_inputs, pfd_list_string *names,
                                pfd_error *err);
#endif
