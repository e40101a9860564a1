/* What a loader of some blobs would run, for programs that show it. */
#include "loader/plan/plan.h"

static pfd_planned_op describe(const pfd_plan_op *op)
{
    return (pfd_planned_op){.node = op->node, .fused = op->producer, .stage = op->stage};
}

pfd_status pfd_planned_ops(const pfd_blob *blobs, int64_t num_blobs, pfd_planned_op *out,
                           int64_t room, int64_t *n, pfd_error *err)
{
    pfd_plan plan = {0};
    pfd_status status = pfd_plan_collect(&plan, blobs, num_blobs, err);
    if (status == PFD_OK) {
        pfd_plan_fuse(&plan);
        pfd_plan_set_stages(&plan);
        for (int32_t i = 0; i < plan.num_ops && i < room; i++) out[i] = describe(&plan.ops[i]);
        *n = plan.num_ops;
    }
    pfd_plan_close(&plan);
    return status;
}
