/* From wanted blobs to ops in order and opened readers. */
#include "loader/plan.h"
#include "core/error.h"
#include "registry/attr_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int32_t find_op(const pfd_plan *plan, const pfd_node *node)
{
    for (int32_t i = 0; i < plan->num_ops; i++)
        if (plan->ops[i].node == node) return i;
    return -1;
}

static pfd_status check_name(const pfd_plan *plan, const pfd_node *node, pfd_error *err)
{
    for (int32_t i = 0; i < plan->num_ops; i++) {
        if (!node->name[0] || strcmp(plan->ops[i].node->name, node->name)) continue;
        pfd_fail(err, PFD_INVALID_ARGUMENT,
                 "two ops of this loader are named '%s' (%s and %s); give each a name of its own, "
                 "or leave the name out",
                 node->name, plan->ops[i].node->op->op->name, node->op->op->name);
        pfd_error_set_op(err, node->op->op->name);
        return PFD_INVALID_ARGUMENT;
    }
    return PFD_OK;
}

/* Ops of other kinds do not count: a graph may have more of them when it is resumed. */
static int32_t count_alike(const pfd_plan *plan, const pfd_node *node)
{
    int32_t alike = 0;
    for (int32_t i = 0; i < plan->num_ops; i++) {
        const pfd_node *other = plan->ops[i].node;
        alike += !other->name[0] && !strcmp(other->op->op->name, node->op->op->name);
    }
    return alike;
}

pfd_plan_tensor pfd_plan_tensor_of(const pfd_row_type *type, const char *name)
{
    int64_t bytes = pfd_dtype_size(type->dtype), fixed = 1;
    int32_t num_varying = 0;
    for (int32_t d = 0; d < type->ndim; d++) {
        if (type->shape[d] < 0)
            num_varying++;
        else
            fixed *= type->shape[d];
    }
    if (!num_varying)
        return (pfd_plan_tensor){.type = *type, .name = name, .row_bytes = fixed * bytes};
    int32_t only_first = num_varying == 1 && type->shape[0] < 0;
    int64_t unit = only_first ? fixed : 1;
    return (pfd_plan_tensor){.type = *type,
                             .name = name,
                             .row_bytes = sizeof(pfd_ragged_row),
                             .is_ragged = 1,
                             .has_shapes = !only_first,
                             .unit = unit,
                             .unit_bytes = unit * bytes};
}

/* Adds the node after those of its inputs; a node that is there already is left as it is. */
static pfd_status add_node(pfd_plan *plan, pfd_node *node, pfd_error *err)
{
    if (find_op(plan, node) >= 0) return PFD_OK;
    uint32_t num_inputs = node->op->public_op->num_inputs;
    for (uint32_t i = 0; i < num_inputs; i++) PFD_TRY(add_node(plan, node->inputs[i].node, err));
    PFD_TRY(check_name(plan, node, err));

    uint32_t num_outputs = node->op->public_op->num_outputs;
    size_t ops_bytes = (size_t)(plan->num_ops + 1) * sizeof *plan->ops;
    size_t tensors_bytes = ((size_t)plan->num_tensors + num_outputs) * sizeof *plan->tensors;
    pfd_plan_op *ops = realloc(plan->ops, ops_bytes);
    if (ops) plan->ops = ops;
    pfd_plan_tensor *tensors = realloc(plan->tensors, tensors_bytes);
    if (tensors) plan->tensors = tensors;
    int32_t *inputs = malloc((num_inputs + 1) * sizeof *inputs);
    if (!ops || !tensors || !inputs) {
        free(inputs);
        return pfd_fail_memory(err, (int64_t)(ops_bytes + tensors_bytes), "the plan of a loader");
    }

    /* Without inputs it is a new reader, or an op with the rows of the first one. */
    int32_t is_reader = pfd_op_is_reader(node->op->op);
    int32_t reader = is_reader || num_inputs > 0 ? plan->num_readers : 0;
    for (uint32_t i = 0; i < num_inputs; i++) {
        const pfd_plan_op *from = &ops[find_op(plan, node->inputs[i].node)];
        inputs[i] = from->first_output + node->inputs[i].output;
        tensors[inputs[i]].is_used = 1;
        if (from->reader < reader) reader = from->reader;
    }
    if (num_inputs > plan->most_inputs) plan->most_inputs = num_inputs;
    if (is_reader) plan->num_readers++;
    int32_t number = count_alike(plan, node);
    ops[plan->num_ops++] = (pfd_plan_op){.node = pfd_node_retain(node),
                                         .reader = reader,
                                         .number = number,
                                         .first_output = plan->num_tensors,
                                         .inputs = inputs};
    for (uint32_t i = 0; i < num_outputs; i++) {
        const char *name = node->op->public_op->outputs[i].name;
        tensors[plan->num_tensors++] = pfd_plan_tensor_of(&node->outputs[i], name);
    }
    return PFD_OK;
}

static pfd_status collect(pfd_plan *plan, const pfd_blob *blobs, int64_t num_blobs, pfd_error *err)
{
    if (num_blobs < 1) return pfd_fail(err, PFD_INVALID_ARGUMENT, "a loader needs a blob or more");
    plan->wanted = calloc((size_t)num_blobs, sizeof *plan->wanted);
    plan->offsets = calloc((size_t)num_blobs, sizeof *plan->offsets);
    if (!plan->wanted || !plan->offsets)
        return pfd_fail_memory(err, num_blobs, "the plan of a loader");
    for (int64_t i = 0; i < num_blobs; i++) {
        int32_t output = blobs[i].output;
        if (output < 0 || (uint32_t)output >= blobs[i].node->op->public_op->num_outputs)
            return pfd_fail(err, PFD_INVALID_ARGUMENT, "%s has no output %d",
                            blobs[i].node->op->op->name, output);
        PFD_TRY(add_node(plan, blobs[i].node, err));
        const pfd_plan_op *op = &plan->ops[find_op(plan, blobs[i].node)];
        plan->wanted[i] = op->first_output + output;
        pfd_plan_tensor *tensor = &plan->tensors[plan->wanted[i]];
        plan->num_ragged += tensor->is_ragged && !tensor->is_wanted;
        tensor->in_slot = tensor->is_wanted = tensor->is_used = 1;
    }
    plan->num_wanted = num_blobs;
    if (plan->num_readers == 0)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "no blob comes from a reader, which would tell how many records there are");
    return PFD_OK;
}

static pfd_status open_readers(pfd_plan *plan, pfd_error *err)
{
    plan->readers = calloc((size_t)plan->num_readers, sizeof *plan->readers);
    if (!plan->readers) return pfd_fail_memory(err, plan->num_readers, "the readers");
    int64_t drawn_seed = pfd_draw_seed();
    for (int32_t i = 0; i < plan->num_ops; i++) {
        const pfd_plan_op *op = &plan->ops[i];
        if (!pfd_op_is_reader(op->node->op->op)) continue;
        PFD_TRY(pfd_data_reader_open(&plan->readers[op->reader], op->node, op->reader, drawn_seed,
                                     plan->bounds, err));
    }
    return PFD_OK;
}

static pfd_status fail_ranks(const pfd_data_reader *first, const pfd_data_reader *other,
                             pfd_error *err)
{
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "reader '%s' has batch_size = %d, rank %" PRId64 " of %" PRId64
                    "; reader '%s' has %d, rank %" PRId64 " of %" PRId64 "; they must be the same",
                    first->name, first->attrs->batch_size, first->attrs->rank,
                    first->attrs->world_size, other->name, other->attrs->batch_size,
                    other->attrs->rank, other->attrs->world_size);
}

static pfd_status fail_rules(const pfd_data_reader *first, const pfd_data_reader *other,
                             pfd_error *err)
{
    char buffer[PFD_CHOICES_BYTES];
    const char *rules[PFD_MAX_CHOICES];
    (void)pfd_split_choices(PFD_LAST_BATCH_CHOICES, buffer, rules);
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "reader '%s' has last_batch = '%s', reader '%s' has '%s'; give them the same "
                    "rule",
                    first->name, rules[first->attrs->last_batch], other->name,
                    rules[other->attrs->last_batch]);
}

/* Strict: every logical batch has as many rows in one as in the other. */
static pfd_status check_lengths(const pfd_data_reader *first, const pfd_data_reader *other,
                                pfd_error *err)
{
    if (first->num_records >= 0 && other->num_records >= 0 &&
        first->num_records != other->num_records)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "reader '%s' has %" PRId64 " records (%" PRId64 " batches), reader '%s' "
                        "has %" PRId64 " (%" PRId64 "); zip=\"shortest\" ends the epoch with the "
                        "shorter one",
                        first->name, first->num_records, first->num_batches, other->name,
                        other->num_records, other->num_batches);
    return first->attrs->last_batch == other->attrs->last_batch ? PFD_OK
                                                                : fail_rules(first, other, err);
}

/* Of ops without inputs, which have the rows of the first reader. */
static pfd_status check_batch_sizes(const pfd_plan *plan, pfd_error *err)
{
    const pfd_data_reader *first = &plan->readers[0];
    for (int32_t i = 0; i < plan->num_ops; i++) {
        const pfd_node *node = plan->ops[i].node;
        if (node->op->op->num_inputs > 0 || pfd_op_is_reader(node->op->op) ||
            node->batch_size == first->attrs->batch_size)
            continue;
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "%s has batch_size = %" PRId64 ", reader '%s' has %d; they must be the "
                        "same",
                        node->op->op->name, node->batch_size, first->name,
                        first->attrs->batch_size);
    }
    return PFD_OK;
}

/* Readers are zipped by position: batch k of the loader is batch k of each. */
static pfd_status zip_readers(pfd_plan *plan, pfd_error *err)
{
    const pfd_data_reader *first = &plan->readers[0];
    plan->num_batches = first->num_batches;
    plan->local_batch_size = first->local_batch_size;
    plan->stream = !first->random_access;
    for (int32_t i = 1; i < plan->num_readers; i++) {
        const pfd_data_reader *other = &plan->readers[i];
        if (!other->random_access) plan->stream = 1;
        if (other->attrs->batch_size != first->attrs->batch_size ||
            other->attrs->rank != first->attrs->rank ||
            other->attrs->world_size != first->attrs->world_size)
            return fail_ranks(first, other, err);
        if (plan->zip == PFD_ZIP_STRICT) PFD_TRY(check_lengths(first, other, err));
        if (other->num_batches < plan->num_batches) plan->num_batches = other->num_batches;
    }
    if (!plan->stream) return PFD_OK;
    /* A rank sees its rows only, and could not tell where the common rows of a batch end. */
    if (plan->num_readers > 1 && plan->zip == PFD_ZIP_SHORTEST && first->attrs->world_size > 1)
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "zip=\"shortest\" of readers that are read in sequence works with "
                        "world_size = 1 only, here it is %" PRId64,
                        first->attrs->world_size);
    return PFD_OK;
}

pfd_status pfd_plan_open(pfd_plan *plan, const pfd_blob *blobs, int64_t num_blobs, int32_t zip,
                         const pfd_bounds *bounds, pfd_error *err)
{
    *plan = (pfd_plan){.zip = zip, .bounds = bounds};
    PFD_TRY(collect(plan, blobs, num_blobs, err));
    pfd_plan_fuse(plan);
    PFD_TRY(open_readers(plan, err));
    PFD_TRY(check_batch_sizes(plan, err));
    PFD_TRY(zip_readers(plan, err));
    pfd_plan_lay_out(plan);
    return PFD_OK;
}

void pfd_plan_close(pfd_plan *plan)
{
    for (int32_t i = 0; plan->readers && i < plan->num_readers; i++)
        pfd_data_reader_close(&plan->readers[i]);
    for (int32_t i = 0; i < plan->num_ops; i++) {
        pfd_node_release(plan->ops[i].node);
        pfd_node_release(plan->ops[i].producer);
        free(plan->ops[i].inputs);
    }
    free(plan->ops);
    free(plan->tensors);
    free(plan->readers);
    free(plan->wanted);
    free(plan->offsets);
    *plan = (pfd_plan){0};
}
