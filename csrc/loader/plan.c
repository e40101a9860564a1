/* From wanted blobs to ops in order and opened readers. */
#include "loader/plan.h"
#include "core/error.h"
#include "registry/attr_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The batches of a data set with views. */
static pfd_status open_view(pfd_plan *plan, pfd_view_tree *tree, const pfd_plan_op *op,
                            int64_t drawn_seed, pfd_error *err)
{
    pfd_data_reader *reader = &plan->readers[op->reader];
    pfd_data_reader_choose_seed(reader, op->node, drawn_seed);
    PFD_TRY(pfd_view_tree_open(tree, &reader->seed, plan->bounds, err));
    pfd_spec spec = {0};
    pfd_spec_add(&spec, "op=", op->node->op->op->name);
    pfd_view_tree_describe(tree, &spec);
    return pfd_data_reader_open_view(reader, op->reader, tree->top->size, tree->leaves,
                                     tree->num_leaves, &spec, plan->bounds, err);
}

static pfd_status open_readers(pfd_plan *plan, int64_t drawn_seed, pfd_error *err)
{
    plan->readers = calloc((size_t)plan->num_readers, sizeof *plan->readers);
    if (!plan->readers) return pfd_fail_memory(err, plan->num_readers, "the readers");
    for (int32_t i = 0; i < plan->num_ops; i++) {
        const pfd_plan_op *op = &plan->ops[i];
        if (!pfd_op_is_reader(op->node->op->op) || op->data_set >= 0) continue;
        pfd_view_tree *tree = op->reader < plan->num_trees ? plan->trees[op->reader] : NULL;
        if (tree && !tree->is_direct) {
            PFD_TRY(open_view(plan, tree, op, drawn_seed, err));
            continue;
        }
        const pfd_node *node = tree ? tree->branches[0].end : op->node;
        PFD_TRY(pfd_data_reader_open(&plan->readers[op->reader], node, op->node, op->reader,
                                     drawn_seed, plan->bounds, err));
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

/* Whose batches differ in size, in a way of its own. */
static int32_t sizes_differ(const pfd_data_reader *reader)
{
    return reader->logical->methods->most_rows != NULL;
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
        if (sizes_differ(first) || sizes_differ(other))
            return pfd_fail(err, PFD_INVALID_ARGUMENT,
                            "the batches of '%s' differ in size, and cannot be paired with those "
                            "of another reader: zip the data sets before",
                            sizes_differ(first) ? first->name : other->name);
        if (other->attrs->batch_size != first->attrs->batch_size ||
            other->attrs->rank != first->attrs->rank ||
            other->attrs->world_size != first->attrs->world_size)
            return fail_ranks(first, other, err);
        if (plan->zip == PFD_ZIP_STRICT) PFD_TRY(check_lengths(first, other, err));
        if (other->num_batches < plan->num_batches) plan->num_batches = other->num_batches;
    }
    if (!plan->stream) return PFD_OK;
    for (int32_t i = 0; i < plan->num_readers; i++)
        if (plan->readers[i].num_leaves > 0)
            return pfd_fail(err, PFD_UNSUPPORTED,
                            "the views of '%s' cannot be read beside a reader that is read in "
                            "sequence: zip the two data sets, or cache() one",
                            plan->readers[i].name);
    /* A rank sees its rows only, and could not tell where the common rows of a batch end. */
    if (plan->num_readers > 1 && plan->zip == PFD_ZIP_SHORTEST && first->attrs->world_size > 1)
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "zip=\"shortest\" of readers that are read in sequence works with "
                        "world_size = 1 only, here it is %" PRId64,
                        first->attrs->world_size);
    return PFD_OK;
}

pfd_status pfd_plan_open(pfd_plan *plan, const pfd_blob *blobs, int64_t num_blobs, int32_t zip,
                         int32_t has_peers, const pfd_bounds *bounds, pfd_error *err)
{
    *plan = (pfd_plan){.zip = zip, .bounds = bounds};
    PFD_TRY(pfd_plan_collect(plan, blobs, num_blobs, err));
    pfd_plan_fuse(plan);
    plan->num_record_arrays = plan->num_readers * (plan->num_trees > 0 ? 2 : 1);
    PFD_TRY(open_readers(plan, has_peers ? -1 : pfd_draw_seed(), err));
    PFD_TRY(check_batch_sizes(plan, err));
    PFD_TRY(zip_readers(plan, err));
    return pfd_plan_lay_out(plan, err);
}

void pfd_plan_close(pfd_plan *plan)
{
    for (int32_t i = 0; plan->readers && i < plan->num_readers; i++)
        pfd_data_reader_close(&plan->readers[i]);
    for (int32_t i = 0; i < plan->num_trees; i++) pfd_view_tree_close(plan->trees[i]);
    for (int32_t i = 0; i < plan->num_ops; i++) {
        pfd_node_release(plan->ops[i].node);
        pfd_node_release(plan->ops[i].producer);
        free(plan->ops[i].inputs);
    }
    free(plan->ops);
    free(plan->tensors);
    free(plan->readers);
    for (int32_t i = 0; plan->branch_bytes && i < plan->num_trees; i++)
        free(plan->branch_bytes[i]);
    free(plan->branch_bytes);
    free(plan->trees);
    free(plan->wanted);
    free(plan->offsets);
    *plan = (pfd_plan){0};
}
