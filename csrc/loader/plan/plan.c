/* From wanted blobs to a plan: the graph becomes ops in order, some pairs of ops become one, and
 * the readers are opened and paired.  Where tensors lie is decided in plan_memory.c. */
#include "loader/plan/plan.h"

#include "core/error.h"
#include "core/hash.h"
#include "registry/attr_value.h"
#include "registry/node.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The graph: nodes inside a data set are followed through its views ----------------------- */

/* Where rows are counted: in the batches, or in a branch of a data set. */
typedef struct place {
    int32_t reader; /* reader in the data set; -1: in the batches */
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
    for (int32_t i = 0; i < plan->num_ops && node->name[0]; i++) {
        if (plan->ops[i].node == node) continue; /* in several branches */
        if (strcmp(plan->ops[i].node->name, node->name)) continue;
        pfd_fail(err, PFD_INVALID_ARGUMENT,
                 "two ops of this loader are named '%s' (%s and %s); give each its own name, "
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
    char kind[64], other_kind[64];
    pfd_op_kind(node->op->op, kind);
    for (int32_t i = 0; i < plan->num_ops; i++) {
        const pfd_node *other = plan->ops[i].node;
        if (other->op != node->op) pfd_op_kind(other->op->op, other_kind);
        alike += !other->name[0] && (other->op == node->op || !strcmp(other_kind, kind));
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
                      .pieces_of = inside.branch != at.branch ? inside.branch : -1,
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
        below[s] = (place){at.reader, tree->branches[at.branch].children[s]};
    pfd_status status = find_inputs(plan, node, field, fields, n, below, &inputs, err);
    free(below);
    PFD_TRY(status);
    pfd_plan_op op = {.node = node, .reader = at.reader, .data_set = at.reader,
                      .branch = at.branch, .pieces_of = -1, .is_choice = 1, .field = field,
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
                      .pieces_of = -1, .num_outputs = (int32_t)node->op->public_op->num_outputs};
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

/* The number of the data set, of those that a view puts side by side, that an input belongs to. */
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
        place below = {at.reader, tree->branches[at.branch].children[source]};
        return find_tensor(plan, &node->inputs[blob->output], below, tensor, err);
    }
    if (!find_op(plan, node, at, blob->output)) {
        place below = {at.reader, tree->branches[at.branch].children[0]};
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

/* Adds the ops that make the blobs, and the trees of their data sets, none of it opened. */
static pfd_status collect(pfd_plan *plan, const pfd_blob *blobs, int64_t num_blobs,
                          pfd_error *err)
{
    if (num_blobs < 1) return pfd_fail(err, PFD_INVALID_ARGUMENT, "a loader needs at least one "
                                                                  "blob");
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

/* ---- Parts: ops without the outputs that nothing uses ---------------------------------------- */

/* Replaces the node of an op by a part of it, where it has outputs of its own that are not used. */
static pfd_status leave_out_unused(pfd_plan *plan, pfd_plan_op *op, int32_t *kept, int32_t *n,
                                   pfd_error *err)
{
    pfd_node *whole = op->node, *part;
    int32_t own = (int32_t)whole->op->op->num_outputs;
    *n = 0;
    for (int32_t i = 0; i < own; i++)
        if (plan->tensors[op->first_output + i].is_used) kept[(*n)++] = i;
    if (*n == 0) kept[(*n)++] = 0; /* only the mask or the id is wanted */
    if (*n == own) return PFD_OK;
    PFD_TRY(pfd_node_part(whole, kept, *n, &part, err));
    if (!part) {
        *n = own;
        return PFD_OK;
    }
    pfd_view_tree *tree = op->data_set >= 0 ? plan->trees[op->data_set] : NULL;
    pfd_branch *branch = tree ? &tree->branches[op->branch < 0 ? 0 : op->branch] : NULL;
    if (branch && branch->end == whole) branch->end = part;
    pfd_node_release(whole);
    op->node = part;
    return PFD_OK;
}

/* Moves the tensors of the outputs that stay together. */
static pfd_status take_parts(pfd_plan *plan, pfd_error *err)
{
    int32_t *moved = calloc((size_t)plan->num_tensors, sizeof *moved);
    int32_t *kept = calloc((size_t)plan->num_tensors, sizeof *kept), used = 0;
    pfd_status status = moved && kept ? PFD_OK : pfd_fail_memory(err, 0, "the plan of a loader");
    for (int32_t i = 0; i < plan->num_ops && status == PFD_OK; i++) {
        pfd_plan_op *op = &plan->ops[i];
        int32_t own = (int32_t)op->node->op->op->num_outputs, n = own, begin = op->first_output;
        if (!op->is_choice && op->node->op->op->same_without)
            status = leave_out_unused(plan, op, kept, &n, err);
        op->first_output = used;
        for (int32_t k = 0, at = 0; k < op->num_outputs; k++) {
            if (n < own && k < own && (at == n || kept[at] != k)) continue;
            at++;
            moved[begin + k] = used;
            plan->tensors[used++] = plan->tensors[begin + k];
        }
        op->num_outputs = used - op->first_output;
        for (int32_t k = 0; k < op->num_inputs; k++) op->inputs[k] = moved[op->inputs[k]];
    }
    for (int64_t i = 0; i < plan->num_wanted && status == PFD_OK; i++)
        plan->wanted[i] = moved[plan->wanted[i]];
    if (status == PFD_OK) plan->num_tensors = used;
    free(moved);
    free(kept);
    return status;
}

/* ---- Fusion: one op of two ------------------------------------------------------------------- */

static const pfd_fusion *find_fusion(const pfd_plan_op *producer, const pfd_plan_op *consumer)
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

/* Gives the producer's inputs and node to the consumer; the ops after the producer move up. */
static void join_ops(pfd_plan *plan, int32_t from, int32_t to, const pfd_fusion *fusion)
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

/* Makes one op of two where what the first one makes is used by the second one alone, and both can
 * be computed together.  The first one is then no longer in plan->ops; its tensors are there, and
 * nothing uses them. */
static void fuse(pfd_plan *plan)
{
    for (int32_t i = 0; i < plan->num_ops; i++) {
        const pfd_plan_op *op = &plan->ops[i];
        if (op->num_inputs != 1 || op->is_choice) continue;
        int32_t tensor = op->inputs[0], from = plan->tensors[tensor].op;
        if (plan->ops[from].producer) continue; /* two, not three */
        if (plan->ops[from].branch != op->branch) continue;
        if (plan->ops[from].data_set != op->data_set) continue;
        const pfd_fusion *fusion = find_fusion(&plan->ops[from], op);
        if (!fusion || plan->tensors[tensor].is_wanted || count_users(plan, tensor) > 1) continue;
        join_ops(plan, from, i, fusion);
        i--;
    }
}

/* ---- The readers: opened, and paired by position --------------------------------------------- */

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
    int64_t bits = 0;
    for (int32_t r = 0; r < plan->num_readers; r++)
        bits = pfd_data_reader_number_files(&plan->readers[r], bits);
    plan->num_file_words = (bits + 63) / 64;
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

/* Ops without inputs have the rows of the first reader. */
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
        if (other->local_batch_size > plan->local_batch_size)
            plan->local_batch_size = other->local_batch_size;
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

/* ---- Open and close -------------------------------------------------------------------------- */

pfd_status pfd_plan_open(pfd_plan *plan, const pfd_blob *blobs, int64_t num_blobs, int32_t zip,
                         int32_t has_peers, const pfd_bounds *bounds, pfd_error *err)
{
    *plan = (pfd_plan){.zip = zip, .bounds = bounds};
    PFD_TRY(collect(plan, blobs, num_blobs, err));
    PFD_TRY(take_parts(plan, err));
    fuse(plan);
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

/* ---- For programs that ask what a loader would run ------------------------------------------- */

uint64_t pfd_node_attrs_hash(const pfd_node *node)
{
    pfd_spec spec = {0};
    pfd_spec_add_own_attrs(&spec, "", node);
    uint64_t hash = pfd_hash_bytes(0, spec.text, (int64_t)spec.used);
    free(spec.text);
    return hash;
}

pfd_status pfd_planned_ops(const pfd_blob *blobs, int64_t num_blobs, pfd_planned_op *out,
                           int64_t room, int64_t *n, pfd_error *err)
{
    pfd_plan plan = {0};
    pfd_status status = collect(&plan, blobs, num_blobs, err);
    if (status == PFD_OK) {
        fuse(&plan);
        pfd_plan_set_stages(&plan);
        for (int32_t i = 0; i < plan.num_ops && i < room; i++)
            out[i] = (pfd_planned_op){.node = plan.ops[i].node, .fused = plan.ops[i].producer,
                                      .stage = plan.ops[i].stage};
        *n = plan.num_ops;
    }
    pfd_plan_close(&plan);
    return status;
}
