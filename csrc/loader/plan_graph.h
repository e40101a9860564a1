/* loader/plan_graph.h -- from wanted blobs to the ops and tensors of a plan.
 *
 * OWNERSHIP, THREADS, ERRORS  As loader/plan.h.
 */
#ifndef PFD_LOADER_PLAN_GRAPH_H
#define PFD_LOADER_PLAN_GRAPH_H
#include "loader/plan.h"

/* Adds the ops that make the blobs, and the trees of their data sets, none of it opened. */
pfd_status pfd_plan_collect(pfd_plan *plan, const pfd_blob *blobs, int64_t num_blobs,
                            pfd_error *err);
#endif
