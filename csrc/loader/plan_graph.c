/* From wanted blobs to ops in order: nodes inside a data set are followed through its views. */
#include "loader/plan.h"

#include "core/error.h"
#include "registry/node.h"

#include <stdlib.h>
#include <string.h>

/* Where rows are counted: in the batches, or in a branch of a data set. */
typedef struct place {
    int32_t reader; /* of the data set; -1: in the batches */
    int32_t branch; /* -1: in the batches, or in a data set that is one reader */
} place;

static const place in_batches = {-1, -1};

static pfd_plan_op *find_op(const pfd_plan *plan, const pfd_node *node, place at, int32_t output)
{
    for (int32_t i = 0; i < plan->num_ops; i++) {
        pfd_plan_op *op = &plan->ops[i];
        if (op->node == node && op->data_set == at.reader && op->branch == at.branch &&
            (!op->is_choice || op->field == output))
            return op;
    }
    return NULL;
}

static pfd_status check_name(const pfd_plan *plan, const pfd_node *node, pfd_error *err)
{
    for (int32_t i = 0; i < plan->num_ops; i++) {
        if (plan->ops[i].node == node) continue; /* in several branches */
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

/* ---- Adding ops ------------------------------------------------------------------------------ */

/* Adds an op without its inputs.  `type` and `name` of its outputs come from the node, but for the
 * single one of a choice. */
static pfd_status add_op(pfd_plan *plan, const pfd_plan_op *described, const int32_t *inputs,
                         pfd_error *err)
{
    pfd_node *node = described->node;
    int32_t num_inputs = described->num_inputs, num_outputs = described->num_outputs;
    PFD_TRY(check_name(plan, node, err));
    size_t ops_bytes = (size_t)(plan->num_ops + 1) * sizeof *plan->ops;
    size_t tensors_bytes = (size_t)(plan->num_tensors + num_outputs) * sizeof *plan->tensors;
    pfd_plan_op *ops = realloc(plan->ops, ops_bytes);
    if (ops) plan->ops = ops;
    pfd_plan_tensor *tensors = realloc(plan->tensors, tensors_bytes);
    if (tensors) plan->tensors = tensors;
    int32_t *own_inputs = malloc(((size_t)num_inputs + 1) * sizeof *own_inputs);
    if (!ops || !tensors || !own_inputs) {
        free(own_inputs);
        return pfd_fail_memory(err, (int64_t)(ops_bytes + tensors_bytes), "the plan of a loader");
    }
    int32_t number = count_alike(plan, node);
    pfd_plan_op *op = &ops[plan->num_ops++];
    *op = *described;
    op->node = pfd_node_retain(node);
    op->number = number;
    op->first_output = plan->num_tensors;
    op->inputs = own_inputs;
    for (int32_t i = 0; i < num_inputs; i++) {
        own_inputs[i] = inputs[i];
        tensors[inputs[i]].is_used = 1;
    }
    if ((uint32_t)num_inputs > plan->most_inputs) plan->most_inputs = (uint32_t)num_inputs;
    for (int32_t i = 0; i < num_outputs; i++) {
        int32_t output = op->is_choice ? op->field : i;
        const char *name = node->op->public_op->outputs[output].name;
        pfd_plan_tensor tensor = pfd_plan_tensor_of(&node->outputs[output], name);
        tensor.op = plan->num_ops - 1;
        tensors[plan->num_tensors++] = tensor;
    }
    return PFD_OK;
}

static pfd_status find_tensor(pfd_plan *plan, const pfd_blob *blob, place at, int32_t *tensor,
                              pfd_error *err);

/* The tensors of n inputs, `begin` and each step-th after it, in the place of each; *inputs is for
 * the caller to free. */
static pfd_status find_inputs(pfd_plan *plan, const pfd_node *node, int64_t begin, int64_t step,
                              int32_t n, const place *places, int32_t **inputs, pfd_error *err)
{
    int32_t *found = malloc(((size_t)n + 1) * sizeof *found);
    if (!found) return pfd_fail_memory(err, n, "the plan of a loader");
    pfd_status status = PFD_OK;
    for (int32_t i = 0; i < n && status == PFD_OK; i++)
        status = find_tensor(plan, &node->inputs[begin + i * step], places[i], &found[i], err);
    if (status != PFD_OK) {
        free(found);
        return status;
    }
    *inputs = found;
    return PFD_OK;
}

static int32_t first_reader(const pfd_plan *plan, const int32_t *inputs, int32_t n)
{
    int32_t reader = n > 0 ? plan->num_readers : 0; /* without inputs: the rows of the first one */
    for (int32_t i = 0; i < n; i++) {
        const pfd_plan_op *from = &plan->ops[plan->tensors[inputs[i]].op];
        if (from->reader < reader) reader = from->reader;
    }
    return reader;
}

/* An op whose inputs are in `inside`, and whose outputs are in `at`. */
static pfd_status add_compute(pfd_plan *plan, pfd_node *node, place at, place inside,
                              pfd_error *err)
{
    int32_t *inputs = NULL, n = (int32_t)node->op->public_op->num_inputs;
    place *places = malloc(((size_t)n + 1) * sizeof *places);
    if (!places) return pfd_fail_memory(err, n, "the plan of a loader");
    for (int32_t i = 0; i < n; i++) places[i] = inside;
    pfd_status status = find_inputs(plan, node, 0, 1, n, places, &inputs, err);
    free(places);
    PFD_TRY(status);
    int32_t is_reader = pfd_op_is_reader(node->op->op);
    pfd_plan_op op = {.node = node,
                      .reader = at.reader >= 0 ? at.reader
                                : is_reader    ? plan->num_readers
                                               : first_reader(plan, inputs, n),
                      .data_set = at.reader,
                      .branch = at.branch,
                      .parts_of = inside.branch != at.branch ? inside.branch : -1,
                      .num_inputs = n,
                      .num_outputs = (int32_t)node->op->public_op->num_outputs};
    status = add_op(plan, &op, inputs, err);
    free(inputs);
    if (status == PFD_OK && is_reader && at.reader < 0) plan->num_readers++;
    return status;
}

/* A field of a view of several sources: rows of the branches below. */
static pfd_status add_choice(pfd_plan *plan, pfd_node *node, place at, int32_t field,
                             pfd_error *err)
{
    const pfd_view_tree *tree = plan->trees[at.reader];
    int32_t fields = (int32_t)node->op->op->num_outputs;
    int32_t n = (int32_t)node->op->op->num_inputs / fields, *inputs = NULL;
    place *below = malloc((size_t)n * sizeof *below);
    if (!below) return pfd_fail_memory(err, n, "the plan of a loader");
    for (int32_t s = 0; s < n; s++)
        below[s] = (place){at.reader, pfd_view_tree_child(tree, at.branch, s)};
    pfd_status status = find_inputs(plan, node, field, fields, n, below, &inputs, err);
    free(below);
    PFD_TRY(status);
    pfd_plan_op op = {.node = node, .reader = at.reader, .data_set = at.reader,
                      .branch = at.branch, .parts_of = -1, .is_choice = 1, .field = field,
                      .num_inputs = n, .num_outputs = 1};
    status = add_op(plan, &op, inputs, err);
    free(inputs);
    return status;
}

/* ---- Following blobs ------------------------------------------------------------------------- */

/* The batches of a data set: a reader of the plan.  Its first outputs are those of the data set;
 * mask and id are its own. */
static pfd_status add_batches(pfd_plan *plan, pfd_node *node, pfd_error *err)
{
    size_t n = (size_t)plan->num_readers + 1;
    pfd_view_tree **trees = calloc(n, sizeof *trees);
    if (!trees) return pfd_fail_memory(err, 0, "the plan of a loader");
    if (plan->trees) memcpy(trees, plan->trees, (size_t)plan->num_trees * sizeof *trees);
    free(plan->trees);
    plan->trees = trees;
    plan->num_trees = (int32_t)n;
    PFD_TRY(pfd_view_tree_create(node, &trees[n - 1], err));
    pfd_plan_op op = {.node = node, .reader = plan->num_readers, .data_set = -1, .branch = -1,
                      .parts_of = -1, .num_outputs = (int32_t)node->op->public_op->num_outputs};
    PFD_TRY(add_op(plan, &op, NULL, err));
    plan->num_readers++;
    for (uint32_t i = 0; i < node->op->op->num_outputs; i++) {
        pfd_plan_tensor *tensor = &plan->tensors[plan->num_tensors - op.num_outputs + (int32_t)i];
        tensor->row_bytes = tensor->is_ragged = tensor->has_shapes = 0; /* nothing is kept there */
    }
    return PFD_OK;
}

/* A blob of BatchDataset. */
static pfd_status find_batched(pfd_plan *plan, const pfd_blob *blob, int32_t *tensor,
                               pfd_error *err)
{
    const pfd_node *node = blob->node;
    if (!find_op(plan, node, in_batches, 0)) PFD_TRY(add_batches(plan, blob->node, err));
    const pfd_plan_op *op = find_op(plan, node, in_batches, 0);
    if ((uint32_t)blob->output >= node->op->op->num_outputs) {
        *tensor = op->first_output + blob->output;
        return PFD_OK;
    }
    int32_t branch = plan->trees[op->reader]->is_direct ? -1 : 0;
    return find_tensor(plan, &node->inputs[blob->output], (place){op->reader, branch}, tensor, err);
}

/* Which of a view's data sets, side by side, an input is of. */
static int32_t source_of_input(const pfd_node *node, int64_t input)
{
    int32_t source = 0;
    for (int64_t end = pfd_node_end_of_source(node, 0); end <= input; source++)
        end = pfd_node_end_of_source(node, end);
    return source;
}

/* A blob of a view in a data set. */
static pfd_status find_in_view(pfd_plan *plan, const pfd_blob *blob, int32_t kind, place at,
                               int32_t *tensor, pfd_error *err)
{
    pfd_node *node = blob->node;
    const pfd_view_tree *tree = plan->trees[at.reader];
    if (kind == PFD_VIEW_ORDER)
        return find_tensor(plan, &node->inputs[blob->output], at, tensor, err);
    if (kind == PFD_VIEW_ZIP) {
        int32_t source = source_of_input(node, blob->output);
        place below = {at.reader, pfd_view_tree_child(tree, at.branch, source)};
        return find_tensor(plan, &node->inputs[blob->output], below, tensor, err);
    }
    if (!find_op(plan, node, at, blob->output)) {
        place below = {at.reader, pfd_view_tree_child(tree, at.branch, 0)};
        PFD_TRY(kind == PFD_VIEW_JOIN ? add_compute(plan, node, at, below, err)
                                      : add_choice(plan, node, at, blob->output, err));
    }
    const pfd_plan_op *op = find_op(plan, node, at, blob->output);
    *tensor = op->first_output + (op->is_choice ? 0 : blob->output);
    return PFD_OK;
}

static pfd_status find_tensor(pfd_plan *plan, const pfd_blob *blob, place at, int32_t *tensor,
                              pfd_error *err)
{
    const pfd_view_op *view = pfd_view_op_of(blob->node->op);
    if (view && at.reader >= 0) return find_in_view(plan, blob, view->kind, at, tensor, err);
    if (view && view->kind == PFD_VIEW_BATCHES) return find_batched(plan, blob, tensor, err);
    if (view)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "a blob of %s is a field of a data set, which has no batches yet: make "
                        "them with batch(), or BatchDataset",
                        blob->node->op->op->name);
    if (!find_op(plan, blob->node, at, 0)) PFD_TRY(add_compute(plan, blob->node, at, at, err));
    *tensor = find_op(plan, blob->node, at, 0)->first_output + blob->output;
    return PFD_OK;
}

pfd_status pfd_plan_collect(pfd_plan *plan, const pfd_blob *blobs, int64_t num_blobs,
                            pfd_error *err)
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
        PFD_TRY(find_tensor(plan, &blobs[i], in_batches, &plan->wanted[i], err));
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
