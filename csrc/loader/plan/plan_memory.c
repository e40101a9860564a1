/* Where the memory of a batch is: in which stage each op runs, how many rows a range has, and which
 * tensors lie in the slot, in a worker or in a branch.  Then how many threads and batches there are
 * where the program gives no number. */
#include "loader/plan/plan.h"

#include "core/error.h"

#include <stdlib.h>

enum { ALIGNMENT = 64, CHUNK_BYTES = 64 * 1024 };

/* ---- Stages ---------------------------------------------------------------------------------- */

static int32_t stage_of_tensor(const pfd_plan *plan, int32_t tensor)
{
    return plan->ops[plan->tensors[tensor].op].stage;
}

/* The first stage of its kind at which all inputs are there. */
static void set_stage(const pfd_plan *plan, pfd_plan_op *op)
{
    const pfd_op *described = op->node->op->op;
    int32_t is_odd = (described->flags & PFD_WHOLE_BATCH) != 0;
    op->stage = is_odd;
    for (int32_t i = 0; i < op->num_inputs; i++) {
        int32_t from = stage_of_tensor(plan, op->inputs[i]);
        int32_t first = from % 2 == is_odd ? from : from + 1;
        if (first > op->stage) op->stage = first;
    }
}

/* An op's inputs from another stage, and the outputs of an op over the whole batch, are in the
 * slot. */
void pfd_plan_set_stages(pfd_plan *plan)
{
    plan->num_stages = 1;
    for (int32_t i = 0; i < plan->num_ops; i++) {
        pfd_plan_op *op = &plan->ops[i];
        set_stage(plan, op);
        if (op->stage >= plan->num_stages) plan->num_stages = op->stage + 1;
        for (int32_t k = 0; k < op->num_inputs; k++)
            if (stage_of_tensor(plan, op->inputs[k]) != op->stage)
                plan->tensors[op->inputs[k]].in_slot = 1;
        for (int32_t k = 0; op->stage % 2 && k < op->num_outputs; k++)
            plan->tensors[op->first_output + k].in_slot = 1;
    }
    plan->keeps_bytes = plan->num_ragged > 0 || plan->num_stages > 1;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int64_t record_bytes(const pfd_plan *plan)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < plan->num_readers; i++) {
        const pfd_data_reader *reader = &plan->readers[i];
        if (reader->num_records > 0) bytes += reader->num_bytes / reader->num_records;
        bytes += reader->outside_bytes;
    }
    return bytes;
}

/* About how large a row is, from the size of its records.  Images, (None, None, channels), are
 * mostly decoded from their records.  How many times larger they are depends on what they show:
 * their ranges are short. */
static int64_t guess_row_bytes(const pfd_plan_tensor *tensor, int64_t records)
{
    enum { DECODED = 8, LEAST_IMAGE = CHUNK_BYTES / 4 };
    const pfd_row_type *type = &tensor->type;
    if (!tensor->is_ragged) return tensor->row_bytes;
    if (type->ndim != 3 || type->shape[0] >= 0 || type->shape[1] >= 0)
        return tensor->row_bytes + records;
    return DECODED * records > LEAST_IMAGE ? DECODED * records : LEAST_IMAGE;
}

/* Of about how many rows one goes through the branch of an op: each row of a choice has one source.
 * In a deep tree the numbers would overflow; beyond MOST_ROWS they make no difference. */
static int64_t rows_for_each(const pfd_plan *plan, const pfd_plan_op *op)
{
    enum { MOST_ROWS = 1 << 30 };
    if (op->branch < 0 || !plan->trees[op->data_set]) return 1;
    const pfd_branch *branches = plan->trees[op->data_set]->branches;
    int64_t rows = 1;
    for (int32_t b = op->branch; b > 0 && rows < MOST_ROWS; b = branches[b].parent)
        if (branches[branches[b].parent].kind == PFD_VIEW_CHOICE)
            rows *= branches[branches[b].parent].num_children;
    return rows;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The most rows that a view of a tree wants at once. */
static int64_t wanted_rows(const pfd_view *view)
{
    int64_t most = view->wanted_rows;
    for (int32_t i = 0; i < view->num_inner; i++)
        most = larger(most, wanted_rows(view->inner[i]));
    return most;
}

/* The minimum number of rows of a range.  It is more than one if each call of an op costs as much
 * as some rows, as long as the rows fit into a core's second cache.  A choice needs several rows
 * for each data set, because a branch costs as much as some rows however few it has; so the rows
 * may then have twice as many bytes, as may those that a view wants. */
static int64_t fewest_rows(const pfd_plan *plan, int64_t row_bytes)
{
    enum { MANY_ROWS = 16, MANY_BYTES = 8 * CHUNK_BYTES };
    uint32_t flags = 0;
    int64_t wanted = 0, calls = 1;
    for (int32_t i = 0; i < plan->num_ops; i++) flags |= plan->ops[i].node->op->op->flags;
    for (int32_t t = 0; t < plan->num_trees; t++) {
        const pfd_view_tree *tree = pfd_plan_tree_of(plan, t);
        if (!tree) continue;
        int64_t rows = tree->num_leaves > 1 ? (int64_t)tree->num_leaves * MANY_ROWS : 0;
        wanted = larger(wanted, larger(rows, wanted_rows(tree->top)));
    }
    if (flags & PFD_COSTLY_CALLS) calls = smaller(MANY_ROWS, MANY_BYTES / row_bytes);
    return larger(calls, smaller(wanted, 2 * MANY_BYTES / row_bytes));
}

/* Where no op reads what another one made, rows need not stay in the first cache.  Longer ranges
 * then spare waits for memory: nothing has prefetched the first rows of a range. */
static int64_t lengthen(const pfd_plan *plan, int64_t rows, int64_t most)
{
    enum { TIMES = 4, LEAST_RANGES = 4 };
    for (int32_t i = 0; i < plan->num_ops; i++)
        if (plan->ops[i].num_inputs > 0) return rows;
    return larger(rows, smaller(TIMES * rows, most / LEAST_RANGES));
}

/* A range is about as many rows as fit into a core's first cache with all that is made of them. */
static void choose_chunk(pfd_plan *plan)
{
    int64_t records = record_bytes(plan), most = plan->local_batch_size;
    if (most < 1) most = 1; /* an epoch without batches */
    int64_t row = 1 + records + plan->num_record_arrays * (int64_t)sizeof(pfd_record);
    for (int32_t i = 0; i < plan->num_tensors; i++) {
        const pfd_plan_tensor *tensor = &plan->tensors[i];
        row += guess_row_bytes(tensor, records) / rows_for_each(plan, &plan->ops[tensor->op]);
    }
    int64_t rows = CHUNK_BYTES / row, fewest = fewest_rows(plan, row);
    if (rows < fewest) rows = fewest;
    if (rows < 1) rows = 1;
    rows = lengthen(plan, rows, most);
    if (rows > most) rows = most;
    int64_t chunks = (most - 1) / rows + 1;
    plan->chunk_rows = (most - 1) / chunks + 1;
    plan->num_chunks = (most - 1) / plan->chunk_rows + 1;
    plan->ragged_bytes = plan->num_ragged * records * most;
}

static int64_t reserve(int64_t *end, int64_t bytes)
{
    int64_t offset = *end;
    *end += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return offset;
}

static void lay_out_ragged(pfd_plan *plan, pfd_plan_tensor *tensor)
{
    int64_t rows = plan->local_batch_size, number = sizeof(int64_t);
    tensor->batch_offset = reserve(&plan->slot_bytes, sizeof(pfd_ragged_batch));
    tensor->splits_offset = reserve(&plan->slot_bytes, (rows + 1) * number);
    if (tensor->has_shapes)
        tensor->shapes_offset = reserve(&plan->slot_bytes, rows * tensor->type.ndim * number);
}

/* Where the ops find their rows. */
static void set_rows(pfd_plan *plan)
{
    for (int32_t i = 0; i < plan->num_ops; i++) {
        pfd_plan_op *op = &plan->ops[i];
        op->has_rows = op->branch >= 0 && pfd_plan_tree_of(plan, op->data_set);
        int32_t is_drawn =
            !pfd_op_is_reader(op->node->op->op) && pfd_plan_tree_of(plan, op->reader);
        op->drawn_records = is_drawn ? plan->num_readers + op->reader : op->reader;
        if (is_drawn && op->node->op->op->compute) plan->trees[op->reader]->has_ops = 1;
    }
    for (int32_t i = 0; i < plan->num_tensors; i++) {
        pfd_plan_tensor *tensor = &plan->tensors[i];
        const pfd_plan_op *op = &plan->ops[tensor->op];
        tensor->in_branch =
            op->has_rows && !plan->trees[op->data_set]->branches[op->branch].is_aligned;
    }
}

static void set_pointing(pfd_plan *plan)
{
    enum { LEAST_BYTES = 64 }; /* a pointer costs as much as a copy of so few */
    for (int32_t is_choice = 1; is_choice >= 0; is_choice--)
        for (int32_t i = 0; i < plan->num_ops; i++) {
            const pfd_plan_op *op = &plan->ops[i];
            if (op->is_choice != is_choice) continue;
            for (int32_t k = 0; k < op->num_inputs; k++) {
                pfd_plan_tensor *tensor = &plan->tensors[op->inputs[k]];
                tensor->may_point = is_choice && tensor->in_branch && !tensor->in_slot &&
                                    !tensor->is_ragged && tensor->row_bytes >= LEAST_BYTES &&
                                    pfd_op_is_reader(plan->ops[tensor->op].node->op->op);
            }
        }
}

/* The tensors of a branch whose rows are not those of the batch lie in the memory of the branch. */
static pfd_status lay_out_branches(pfd_plan *plan, pfd_error *err)
{
    if (plan->num_trees == 0) return PFD_OK;
    plan->branch_bytes = calloc((size_t)plan->num_trees, sizeof *plan->branch_bytes);
    if (!plan->branch_bytes) return pfd_fail_memory(err, 0, "the plan of a loader");
    for (int32_t t = 0; t < plan->num_trees; t++) {
        if (!plan->trees[t]) continue;
        size_t n = (size_t)plan->trees[t]->num_branches;
        plan->branch_bytes[t] = calloc(n, sizeof **plan->branch_bytes);
        if (!plan->branch_bytes[t]) return pfd_fail_memory(err, 0, "the plan of a loader");
    }
    for (int32_t i = 0; i < plan->num_tensors; i++) {
        pfd_plan_tensor *tensor = &plan->tensors[i];
        const pfd_plan_op *op = &plan->ops[tensor->op];
        if (!tensor->in_branch) continue;
        int64_t *end = &plan->branch_bytes[op->data_set][op->branch];
        tensor->offset = reserve(end, tensor->row_bytes);
        if (tensor->may_point) tensor->pointers = reserve(end, sizeof(pfd_ragged_row));
    }
    return PFD_OK;
}

pfd_status pfd_plan_lay_out(pfd_plan *plan, pfd_error *err)
{
    plan->known_batches = plan->num_batches;
    pfd_plan_set_stages(plan);
    choose_chunk(plan);
    set_rows(plan);
    set_pointing(plan);
    PFD_TRY(lay_out_branches(plan, err));
    for (int32_t i = 0; i < plan->num_tensors; i++) {
        pfd_plan_tensor *tensor = &plan->tensors[i];
        if (tensor->in_branch) continue;
        int64_t *end = tensor->in_slot ? &plan->slot_bytes : &plan->worker_bytes;
        int64_t rows = tensor->in_slot ? plan->local_batch_size : plan->chunk_rows;
        tensor->offset = reserve(end, rows * tensor->row_bytes);
        if (tensor->is_ragged && tensor->is_wanted) lay_out_ragged(plan, tensor);
    }
    if (plan->slot_bytes == 0) plan->slot_bytes = ALIGNMENT; /* blobs of no bytes have an address */
    for (int64_t i = 0; i < plan->num_wanted; i++) {
        const pfd_plan_tensor *tensor = &plan->tensors[plan->wanted[i]];
        plan->offsets[i] = tensor->is_ragged ? tensor->batch_offset : tensor->offset;
    }
    return PFD_OK;
}

/* ---- Threads and batches in flight, where the program gives no number ------------------------ */

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Files that are looked at before a batch is delivered, about; those of views may be in any order.
 */
static int64_t files_looked_at(const pfd_plan *plan, const pfd_data_reader *reader,
                               int32_t is_ordered)
{
    int64_t files = 0;
    for (int32_t i = 0; i < reader->num_leaves; i++)
        files += files_looked_at(plan, &reader->leaves[i], 0);
    if (!reader->files) return files;
    if (reader->first_file_bit < 0) return files + reader->num_files;
    return files + (is_ordered ? 1 : smaller(plan->local_batch_size, reader->num_files));
}

/* Starts many small batches at a time, so that a thread that wakes up finds work for a while, and
 * more of them if a batch has records of many files: one look at a file serves all batches that
 * are complete, and takes as long as a copy of some KB.  Beyond two batches for each thread and two
 * more, which keep the threads busy, it starts no more than an epoch has: a program may take no
 * others.  Of large batches it starts only two more than are needed for two ranges per thread. */
int32_t pfd_plan_usual_prefetch(const void *of, int32_t num_threads)
{
    enum { AHEAD_BYTES = 1 << 20, FILE_BYTES = 1 << 16, MOST_AHEAD = 64, LARGE_BYTES = 64 << 20 };
    const pfd_plan *plan = of;
    int64_t batch_bytes = plan->slot_bytes + plan->ragged_bytes, files = 0;
    for (int32_t r = 0; r < plan->num_readers; r++)
        files += files_looked_at(plan, &plan->readers[r],
                                 plan->readers[r].shuffle == PFD_SHUFFLE_NONE);
    int64_t ahead_bytes = clamp(files * FILE_BYTES, AHEAD_BYTES, LARGE_BYTES);
    int64_t ahead = smaller(ahead_bytes / batch_bytes, MOST_AHEAD);
    if (plan->known_batches >= 0) ahead = smaller(ahead, plan->known_batches);
    int64_t usual = 2 * num_threads + 2, needed = 2 + 2 * num_threads / plan->num_chunks;
    int64_t least = clamp(LARGE_BYTES / batch_bytes, needed, usual);
    return (int32_t)larger(ahead, least);
}

/* More threads than processors are for work that waits. Their memory is part of the budget. */
int32_t pfd_plan_most_threads(const pfd_plan *plan, int32_t num_threads, int64_t memory_budget)
{
    enum { LEAST = 16, MOST = 64, FOR_EACH = 4 };
    int64_t most = clamp(FOR_EACH * (int64_t)num_threads, LEAST, MOST);
    int64_t for_threads = memory_budget / 4 / (plan->worker_bytes + 1);
    if (most > for_threads) most = for_threads;
    return (int32_t)(most > num_threads ? most : num_threads);
}
