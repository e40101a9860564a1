/* loader/rows/eager.h -- an op without a graph, for rows that the program has; the functions are in
 * pyflowdata.h.
 *
 *     eager.c       the op with its attrs and types
 *     eager_call.c  one call: ranges of rows through pfd_kernel_call_run()
 */
#ifndef PFD_LOADER_EAGER_H
#define PFD_LOADER_EAGER_H
#include "loader/plan/plan.h"
#include "registry/node.h"

struct pfd_eager {
    pfd_node *node; /* of pfd_node_create_on_rows() */
    /* One per input, then one per output of the op. */
    pfd_plan_tensor *tensors;
};
#endif
