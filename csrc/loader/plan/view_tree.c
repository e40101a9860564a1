/* Builds the tree of a data set from its nodes, and opens its readers and views. */
#include "loader/plan/view_tree.h"

#include "core/error.h"
#include "core/hash.h"
#include "registry/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- From nodes to branches ------------------------------------------------------------------ */

static pfd_status fail_tree(pfd_error *err)
{
    return pfd_fail_memory(err, sizeof(pfd_branch), "the views of a data set");
}

static pfd_status add_branch(pfd_view_tree *tree, int32_t parent, int32_t source, pfd_error *err)
{
    enum { MOST_BRANCHES = 16384 };
    size_t n = (size_t)tree->num_branches;
    if (n == MOST_BRANCHES)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "the data set is made of more than %d data sets; open files together, or "
                        "repeat() one, in place of a concat of many",
                        MOST_BRANCHES);
    pfd_branch *grown = realloc(tree->branches, (n + 1) * sizeof *grown);
    if (!grown) return fail_tree(err);
    tree->branches = grown;
    int32_t is_aligned =
        parent < 0 || (grown[parent].is_aligned && grown[parent].kind == PFD_VIEW_ZIP);
    grown[n] = (pfd_branch){.parent = parent, .source = source, .is_aligned = is_aligned,
                            .leaf = -1};
    tree->num_branches++;
    return PFD_OK;
}

static pfd_status add_order(pfd_branch *branch, const pfd_node *node, pfd_error *err)
{
    size_t n = (size_t)branch->num_orders;
    const pfd_node **grown = realloc(branch->order_nodes, (n + 1) * sizeof *grown);
    if (!grown) return fail_tree(err);
    branch->order_nodes = grown;
    grown[n] = node;
    branch->num_orders++;
    return PFD_OK;
}

/* The branch from `node` down, and those below it. */
static pfd_status grow(pfd_view_tree *tree, const pfd_node *node, int32_t parent, int32_t source,
                       pfd_error *err)
{
    int32_t own = tree->num_branches;
    PFD_TRY(add_branch(tree, parent, source, err));
    const pfd_view_op *view = pfd_view_op_of(node->op);
    for (; view && view->kind == PFD_VIEW_ORDER; view = pfd_view_op_of(node->op)) {
        PFD_TRY(add_order(&tree->branches[own], node, err));
        node = node->inputs[0].node->order;
    }
    tree->branches[own].end = node;
    if (!view) {
        tree->branches[own].leaf = tree->num_leaves++;
        return PFD_OK;
    }
    tree->branches[own].kind = view->kind;
    int64_t n = node->op->op->num_inputs;
    int32_t number = 0;
    for (int64_t begin = 0, end; begin < n; begin = end, number++) {
        end = pfd_node_end_of_source(node, begin);
        PFD_TRY(grow(tree, node->inputs[begin].node->order, own, number, err));
    }
    return PFD_OK;
}

/* After all branches were made. */
static pfd_status note_children(pfd_view_tree *tree, pfd_error *err)
{
    for (int32_t b = 1; b < tree->num_branches; b++)
        tree->branches[tree->branches[b].parent].num_children++;
    for (int32_t b = 0; b < tree->num_branches; b++) {
        pfd_branch *branch = &tree->branches[b];
        branch->children = calloc((size_t)branch->num_children + 1, sizeof *branch->children);
        if (!branch->children) return fail_tree(err);
        if (b > 0) tree->branches[branch->parent].children[branch->source] = b;
    }
    return PFD_OK;
}

pfd_status pfd_view_tree_create(const pfd_node *batches, pfd_view_tree **out, pfd_error *err)
{
    pfd_view_tree *tree = calloc(1, sizeof *tree);
    if (!tree) return fail_tree(err);
    pfd_status status = grow(tree, batches->inputs[0].node->order, -1, 0, err);
    if (status == PFD_OK) status = note_children(tree, err);
    if (status == PFD_OK) {
        tree->leaves = calloc((size_t)tree->num_leaves, sizeof *tree->leaves);
        tree->first_files = calloc((size_t)tree->num_leaves + 1, sizeof *tree->first_files);
        if (!tree->leaves || !tree->first_files) status = fail_tree(err);
    }
    if (status != PFD_OK) {
        pfd_view_tree_close(tree);
        return status;
    }
    tree->is_direct = tree->num_branches == 1 && tree->branches[0].num_orders == 0;
    *out = tree;
    return PFD_OK;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* The records of a reader, as what views are made of. */
static pfd_status open_leaf_view(int64_t size, pfd_view **out, pfd_error *err)
{
    static const pfd_view_methods methods = {.name = "reader", .close = pfd_view_free};
    PFD_TRY(pfd_view_create(sizeof **out, &methods, out, err));
    (*out)->size = size;
    return PFD_OK;
}

/* A node has one name, so that it does the same wherever it is in the tree, and whatever is beside
 * it.  "_0" keeps the orders of states that were saved when views had numbers. */
static pfd_status name_view(pfd_view_tree *tree, const pfd_node *node, const char **out,
                            pfd_error *err)
{
    if (node->name[0]) {
        *out = node->name;
        return PFD_OK;
    }
    char text[128];
    snprintf(text, sizeof text, "%.64s_0", node->op->op->name);
    char **grown = realloc(tree->names, ((size_t)tree->num_names + 1) * sizeof *grown);
    if (grown) tree->names = grown;
    char *name = strdup(text);
    if (!grown || !name) {
        free(name);
        return fail_tree(err);
    }
    tree->names[tree->num_names++] = name;
    *out = name;
    return PFD_OK;
}

/* Opens the view of a node over inner ones, which are then its own, or closed. */
static pfd_status open_view(pfd_view_tree *tree, const pfd_node *node, pfd_view **inner,
                            int32_t num_inner, const int64_t *seed, pfd_view **out, pfd_error *err)
{
    pfd_view_args args = {.attrs = pfd_attrs_struct(node->attrs), .inner = inner,
                          .num_inner = num_inner, .seed = seed};
    pfd_status status = name_view(tree, node, &args.name, err);
    if (status == PFD_OK) {
        pfd_error_clear(err);
        status = pfd_view_op_of(node->op)->open(&args, out, err);
        if (status != PFD_OK) pfd_error_set_op(err, node->op->op->name);
    }
    if (status != PFD_OK) {
        for (int32_t i = 0; i < num_inner; i++) pfd_view_close(inner[i]);
        free(inner);
        return status;
    }
    (*out)->inner = inner;
    (*out)->num_inner = num_inner;
    return PFD_OK;
}

static pfd_status open_branch(pfd_view_tree *tree, int32_t b, const int64_t *seed, pfd_view **out,
                              pfd_error *err);

/* The view at the end of a branch over the branches below. */
static pfd_status open_joint(pfd_view_tree *tree, int32_t b, const int64_t *seed, pfd_view **out,
                             pfd_error *err)
{
    int32_t n = tree->branches[b].num_children, opened = 0;
    pfd_view **inner = calloc((size_t)n, sizeof *inner);
    if (!inner) return fail_tree(err);
    pfd_status status = PFD_OK;
    while (opened < n && status == PFD_OK) {
        status = open_branch(tree, tree->branches[b].children[opened], seed, &inner[opened], err);
        opened += status == PFD_OK;
    }
    if (status != PFD_OK) {
        for (int32_t i = 0; i < opened; i++) pfd_view_close(inner[i]);
        free(inner);
        return status;
    }
    PFD_TRY(open_view(tree, tree->branches[b].end, inner, n, seed, out, err));
    tree->branches[b].joint = *out;
    return PFD_OK;
}

static pfd_status open_branch(pfd_view_tree *tree, int32_t b, const int64_t *seed, pfd_view **out,
                              pfd_error *err)
{
    const pfd_branch *branch = &tree->branches[b];
    pfd_view *view = NULL;
    tree->branches[b].orders = calloc((size_t)branch->num_orders + 1, sizeof *branch->orders);
    if (!branch->orders) return fail_tree(err);
    if (branch->leaf >= 0)
        PFD_TRY(open_leaf_view(tree->leaves[branch->leaf].num_records, &view, err));
    else
        PFD_TRY(open_joint(tree, b, seed, &view, err));
    for (int32_t i = branch->num_orders - 1; i >= 0; i--) {
        pfd_view **inner = calloc(1, sizeof *inner);
        if (!inner) {
            pfd_view_close(view);
            return fail_tree(err);
        }
        inner[0] = view;
        PFD_TRY(open_view(tree, branch->order_nodes[i], inner, 1, seed, &view, err));
        branch->orders[i] = view;
    }
    *out = view;
    return PFD_OK;
}

pfd_status pfd_view_tree_open(pfd_view_tree *tree, const int64_t *seed, const pfd_bounds *bounds,
                              pfd_error *err)
{
    for (int32_t b = 0; b < tree->num_branches; b++) {
        const pfd_branch *branch = &tree->branches[b];
        if (branch->leaf < 0) continue;
        pfd_data_reader *leaf = &tree->leaves[branch->leaf];
        PFD_TRY(pfd_data_reader_open_leaf(leaf, branch->end, branch->leaf, bounds, err));
        tree->first_files[branch->leaf + 1] = tree->first_files[branch->leaf] + leaf->num_files;
    }
    return open_branch(tree, 0, seed, &tree->top, err);
}

void pfd_view_tree_close(pfd_view_tree *tree)
{
    if (!tree) return;
    pfd_view_close(tree->top);
    for (int32_t i = 0; tree->leaves && i < tree->num_leaves; i++)
        pfd_data_reader_close(&tree->leaves[i]);
    for (int32_t b = 0; b < tree->num_branches; b++) {
        free(tree->branches[b].order_nodes);
        free(tree->branches[b].orders);
        free(tree->branches[b].children);
    }
    for (int32_t i = 0; i < tree->num_names; i++) free(tree->names[i]);
    free(tree->names);
    free(tree->first_files);
    free(tree->leaves);
    free(tree->branches);
    free(tree);
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* "2:TakeDataset." in front of each line of the second branch. */
static void describe_node(pfd_spec *spec, int32_t b, const pfd_node *node)
{
    char prefix[128];
    snprintf(prefix, sizeof prefix, "%" PRId32 ":%.64s.", b, node->op->op->name);
    pfd_spec_add_own_attrs(spec, prefix, node);
}

void pfd_view_tree_describe(const pfd_view_tree *tree, pfd_spec *spec)
{
    for (int32_t b = 0; b < tree->num_branches; b++) {
        const pfd_branch *branch = &tree->branches[b];
        char line[64];
        snprintf(line, sizeof line, "%" PRId32 ":of=%" PRId32, b, branch->parent);
        pfd_spec_add(spec, "", line);
        for (int32_t i = 0; i < branch->num_orders; i++)
            describe_node(spec, b, branch->order_nodes[i]);
        describe_node(spec, b, branch->end);
    }
}

static uint64_t hash_past(uint64_t hash, const pfd_view *view, int64_t epoch, int64_t position)
{
    uint64_t own = view->methods->past ? view->methods->past(view, epoch, position) : 0;
    if (own) hash = pfd_hash_word(hash, own);
    for (int32_t i = 0; i < view->num_inner; i++)
        hash = hash_past(hash, view->inner[i], 0, INT64_MAX);
    return hash;
}

uint64_t pfd_view_tree_past(const pfd_view_tree *tree, int64_t epoch, int64_t position)
{
    return epoch == 0 && position == 0 ? 0 : hash_past(0, tree->top, epoch, position);
}

void pfd_view_tree_locate(const pfd_view_tree *tree, const pfd_record *record, pfd_error *err)
{
    int32_t leaf = 0;
    while (leaf + 1 < tree->num_leaves && tree->first_files[leaf + 1] <= record->file) leaf++;
    pfd_record own = *record;
    own.file = record->file < 0 ? -1 : (int32_t)(record->file - tree->first_files[leaf]);
    pfd_data_reader_locate(&tree->leaves[leaf], &own, err);
}
