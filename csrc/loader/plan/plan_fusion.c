/* Makes one op of two. */
#include "loader/plan/plan.h"

#include <stdlib.h>
#include <string.h>

static const pfd_fusion *find(const pfd_plan_op *producer, const pfd_plan_op *consumer)
{
    const pfd_op *first = producer->node->op->author, *second = consumer->node->op->author;
    for (const pfd_fusion *each = pfd_builtin_fusions; each->compute; each++)
        if (each->producer == first && each->consumer == second) return each;
    return NULL;
}

static int32_t count_users(const pfd_plan *plan, int32_t tensor)
{
    int32_t users = 0;
    for (int32_t i = 0; i < plan->num_ops; i++)
        for (int32_t k = 0; k < plan->ops[i].num_inputs; k++)
            users += plan->ops[i].inputs[k] == tensor;
    return users;
}

/* The producer's inputs and node go to the consumer; the others move up. */
static void join(pfd_plan *plan, int32_t from, int32_t to, const pfd_fusion *fusion)
{
    pfd_plan_op *producer = &plan->ops[from], *consumer = &plan->ops[to];
    free(consumer->inputs);
    consumer->inputs = producer->inputs;
    consumer->num_inputs = producer->num_inputs;
    consumer->producer = producer->node;
    consumer->fused = fusion->compute;
    memmove(producer, producer + 1, (size_t)(plan->num_ops - from - 1) * sizeof *producer);
    plan->num_ops--;
    for (int32_t i = 0; i < plan->num_tensors; i++)
        plan->tensors[i].op -= plan->tensors[i].op > from;
}

void pfd_plan_fuse(pfd_plan *plan)
{
    for (int32_t i = 0; i < plan->num_ops; i++) {
        const pfd_plan_op *op = &plan->ops[i];
        if (op->num_inputs != 1 || op->is_choice) continue;
        int32_t tensor = op->inputs[0], from = plan->tensors[tensor].op;
        if (plan->ops[from].producer) continue; /* two, not three */
        if (plan->ops[from].branch != op->branch) continue;
        if (plan->ops[from].data_set != op->data_set) continue;
        const pfd_fusion *fusion = find(&plan->ops[from], op);
        if (!fusion || plan->tensors[tensor].is_wanted || count_users(plan, tensor) > 1) continue;
        join(plan, from, i, fusion);
        i--;
    }
}
