/* Finds the records of rows and runs the ops of a stage over them, one after the other.  Where a
 * row fails, by its record or in an op, the rows around it are made without it. */
#include "loader/rows/kernel_chain.h"

#include "core/error.h"
#include "dataset/dataset.h"
#include "loader/plan/data_reader.h"
#include "loader/rows/kernel_call.h"
#include "loader/rows/ragged_rows.h"
#include "registry/attrs.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct range {
    const pfd_plan *plan;
    pfd_worker *worker;
    pfd_row_batch *batch;
    pfd_skip_row_fn skip_row;
    pfd_scratch *arena; /* memory that must last until the batch is complete; NULL: none must */
    int64_t base;       /* row of the worker's first record */
    int64_t begin, end; /* rows to make */
} range;

/* ---- The memory of a thread ------------------------------------------------------------------ */

void pfd_worker_close(const pfd_plan *plan, pfd_worker *worker)
{
    for (int32_t i = 0; worker->records && i < plan->num_record_arrays; i++)
        free(worker->records[i]);
    for (int32_t t = 0; worker->branches && t < plan->num_trees; t++) {
        if (worker->branches[t]) pfd_branch_rows_close(plan->trees[t], worker->branches[t]);
        free(worker->branches[t]);
    }
    free(worker->branches);
    free(worker->records);
    free(worker->memory);
    free(worker->positions);
    free(worker->tensors);
    free(worker->ports);
    free(worker->keys);
    free(worker->rows_last);
    pfd_scratch_free(worker->at_scratch);
    pfd_scratch_free(worker->scratch);
    pfd_work_close(&worker->work);
    *worker = (pfd_worker){0};
}

static int32_t open_branches(const pfd_plan *plan, pfd_worker *worker)
{
    worker->branches = calloc((size_t)plan->num_trees + 1, sizeof *worker->branches);
    if (!worker->branches) return 0;
    for (int32_t t = 0; t < plan->num_trees; t++) {
        const pfd_view_tree *tree = pfd_plan_tree_of(plan, t);
        if (!tree) continue;
        worker->branches[t] = calloc((size_t)tree->num_branches, sizeof **worker->branches);
        if (!worker->branches[t]) return 0;
        for (int32_t b = 0; b < tree->num_branches; b++)
            worker->branches[t][b].row_bytes = plan->branch_bytes[t][b];
        if (!pfd_branch_rows_open(tree, worker->branches[t], plan->chunk_rows)) return 0;
    }
    return 1;
}

int32_t pfd_worker_open(const pfd_plan *plan, pfd_worker *worker)
{
    size_t rows = (size_t)plan->chunk_rows, tensors = (size_t)plan->num_tensors;
    worker->memory = aligned_alloc(64, (size_t)(plan->worker_bytes ? plan->worker_bytes : 64));
    worker->records = calloc((size_t)plan->num_record_arrays, sizeof *worker->records);
    worker->positions = malloc(rows * sizeof *worker->positions);
    worker->tensors = calloc(tensors, sizeof *worker->tensors);
    worker->ports = calloc(plan->most_inputs + tensors, sizeof *worker->ports);
    worker->keys = calloc((size_t)plan->num_ops, sizeof *worker->keys);
    worker->rows_last = calloc((size_t)plan->num_ops + 1, 1);
    worker->at_scratch = pfd_scratch_create();
    worker->scratch = pfd_scratch_create();
    if (!worker->memory || !worker->records || !worker->positions || !worker->tensors ||
        !worker->ports || !worker->keys || !worker->rows_last || !worker->at_scratch ||
        !worker->scratch)
        return 0;
    for (int32_t i = 0; i < plan->num_ops; i++) worker->keys[i].epoch = -1;
    for (size_t i = 0; i < tensors; i++) {
        const pfd_plan_tensor *tensor = &plan->tensors[i];
        worker->ports[plan->most_inputs + i] = &worker->tensors[i];
        worker->tensors[i] = (pfd_tensor){.struct_size = sizeof(pfd_tensor),
                                          .is_ragged = tensor->is_ragged,
                                          .type = tensor->type,
                                          .row_bytes = tensor->is_ragged ? 0 : tensor->row_bytes};
    }
    pfd_scratch_set_bounds(worker->at_scratch, plan->bounds);
    pfd_scratch_set_bounds(worker->scratch, plan->bounds);
    for (int32_t i = 0; i < plan->num_record_arrays; i++) {
        worker->records[i] = calloc(rows, sizeof **worker->records);
        if (!worker->records[i]) return 0;
    }
    return pfd_work_open(plan, &worker->work) && open_branches(plan, worker);
}

/* ---- A range: its records and its tensors ---------------------------------------------------- */

/* The rows of the range that come from reader r. */
static pfd_record *range_records(const range *at, int32_t r)
{
    return at->batch->records ? at->batch->records[r] + at->begin
                             : at->worker->records[r] + (at->begin - at->base);
}

/* The rows of a branch of the data set that an op is in. */
static pfd_branch_rows *rows_of_branch(const range *at, const pfd_plan_op *op, int32_t branch)
{
    return &at->worker->branches[op->data_set][branch];
}

/* For the op that makes a tensor, room to say where its rows are, and that it has not said so. */
static pfd_ragged_row *pointers_of(const range *at, const pfd_plan_tensor *tensor)
{
    const pfd_plan_op *op = &at->plan->ops[tensor->op];
    const pfd_branch_rows *rows = rows_of_branch(at, op, op->branch);
    pfd_ragged_row *pointers = (void *)(rows->memory + rows->capacity * tensor->pointers);
    if (rows->n > 0) pointers[0].data = NULL;
    return pointers;
}

/* Where the first row is in a tensor. */
static uint8_t *tensor_data(const range *at, const pfd_plan_tensor *tensor)
{
    if (tensor->in_slot)
        return at->batch->memory + at->begin * tensor->row_bytes + tensor->offset;
    if (!tensor->in_branch) return at->worker->memory + tensor->offset;
    const pfd_plan_op *op = &at->plan->ops[tensor->op];
    const pfd_branch_rows *rows = rows_of_branch(at, op, op->branch);
    return rows->memory + rows->capacity * tensor->offset;
}

static void set_tensors(const range *at)
{
    for (int32_t i = 0; i < at->plan->num_tensors; i++) {
        const pfd_plan_tensor *tensor = &at->plan->tensors[i];
        pfd_tensor *set = &at->worker->tensors[i];
        uint8_t *data = tensor_data(at, tensor);
        if (tensor->is_ragged) set->rows = (void *)data;
        else set->data = data;
        if (tensor->may_point) set->rows = pointers_of(at, tensor);
    }
}

/* Makes the error of an op's function whole: the op, and the place of the record that failed. */
static pfd_status failed(const range *at, int32_t reader, const char *op, pfd_status status,
                         pfd_error *err)
{
    pfd_check_failed_row(at->end - at->begin, err);
    at->worker->failed_reader = reader;
    const pfd_record *record = err->row < 0 ? NULL : range_records(at, reader) + err->row;
    const pfd_view_tree *tree = pfd_plan_tree_of(at->plan, reader);
    if (tree && record)
        pfd_view_tree_locate(tree, record, err);
    else
        pfd_data_reader_locate(&at->plan->readers[reader], record, err);
    pfd_error_set_op(err, op);
    return status;
}

/* ---- Finding records ------------------------------------------------------------------------- */

/* The records of rows that views chose: the chain gave their places. */
static pfd_status find_records(const range *at, int32_t r, const pfd_view_tree *tree,
                               pfd_scratch *scratch, pfd_error *err)
{
    pfd_record *records = range_records(at, r);
    pfd_status status = pfd_branch_rows_find(
        tree, at->worker->branches[r], at->end - at->begin, scratch, records,
        range_records(at, at->plan->num_readers + r), at->batch->files, err);
    if (status == PFD_OK) return PFD_OK;
    at->worker->failed_reader = r;
    if (err->row >= 0)
        records[err->row] =
            (pfd_record){.file = -1, .ordinal = -1, .filler = records[err->row].filler};
    return status;
}

/* Asks for the blocks of a later batch, or plans them, in pieces of as many rows as the range has.
 * 0: the plan has no room. */
static int32_t ask_for_batch(const range *at, int32_t r, int64_t number, int32_t is_plan)
{
    pfd_data_reader *reader = &at->plan->readers[r];
    const pfd_view_tree *tree = pfd_plan_tree_of(at->plan, r);
    const pfd_reader_attrs *attrs = at->plan->readers[0].attrs;
    int64_t epoch = number / at->plan->num_batches, room = at->end - at->begin;
    int64_t first, end, from, to, *positions = at->worker->positions;
    pfd_record *records = range_records(at, r);
    pfd_scratch *scratch = at->worker->scratch; /* no op of the range has run */
    pfd_error *err = &(pfd_error){.struct_size = sizeof(pfd_error)}; /* the batch itself tells it */
    reader->logical->methods->batch(reader->logical, epoch, number % at->plan->num_batches, &first,
                                    &end);
    pfd_rank_rows(end - first, attrs->rank, attrs->world_size, &from, &to);
    for (int64_t n; from < to; from += n) {
        n = to - from < room ? to - from : room;
        for (int64_t i = 0; i < n; i++) positions[i] = first + from + i;
        if (reader->chain->methods->at(reader->chain, epoch, positions, n, NULL, records, err))
            return 0;
        if (tree && pfd_branch_rows_ahead(tree, at->worker->branches[r], n, records,
                                          is_plan ? reader : NULL, number, scratch, err))
            return 0;
        if (!tree && is_plan && !pfd_data_reader_plan(reader, reader, records, n, number)) return 0;
        if (!tree && !is_plan) pfd_data_reader_ask(reader, records, n, scratch);
        pfd_scratch_reset(scratch);
    }
    return 1;
}

/* When a range of a batch begins: asks for remote blocks of that batch and of those after it. */
static void ask_ahead(const range *at, int32_t r)
{
    pfd_data_reader *reader = &at->plan->readers[r];
    if (!reader->blocks_ahead || at->batch->positions || at->begin == at->end) return;
    int64_t batch, now = at->batch->epoch * at->plan->num_batches + at->batch->step;
    int32_t is_due = pfd_data_reader_begin_ask(reader, now, &batch);
    for (; is_due; is_due = pfd_data_reader_asked(reader, &batch))
        (void)ask_for_batch(at, r, batch, 0);
    is_due = pfd_data_reader_begin_plan(reader, now, at->plan->num_batches, &batch);
    while (is_due)
        is_due = pfd_data_reader_planned(reader, ask_for_batch(at, r, batch, 1), &batch);
}

/* Records of the range, of one reader. */
static pfd_status locate(const range *at, int32_t r, pfd_error *err)
{
    pfd_data_reader *reader = &at->plan->readers[r];
    int64_t n = at->end - at->begin, first = at->batch->first_positions[r] + at->begin;
    int64_t *positions = at->worker->positions;
    ask_ahead(at, r);
    if (at->batch->positions)
        memcpy(positions, at->batch->positions + at->begin, (size_t)n * sizeof *positions);
    else
        for (int64_t i = 0; i < n; i++) positions[i] = first + i;
    pfd_record *records = range_records(at, r);
    pfd_scratch *scratch = at->arena ? at->arena : at->worker->at_scratch;
    pfd_error_clear(err);
    pfd_status status = reader->chain->methods->at(reader->chain, at->batch->epoch, positions, n,
                                                   scratch, records, err);
    status = pfd_scratch_explain(scratch, pfd_check_returned(status, "at", err), err);
    const pfd_view_tree *tree = pfd_plan_tree_of(at->plan, r);
    if (status == PFD_OK && tree) return find_records(at, r, tree, scratch, err);
    if (status == PFD_OK) pfd_data_reader_note_files(reader, records, n, at->batch->files);
    if (status == PFD_OK && at->batch->positions) return PFD_OK;
    if (status == PFD_OK) {
        pfd_data_reader_read_ahead(reader, at->batch->epoch, first, records, n);
        return PFD_OK;
    }
    if (err->row >= 0 && err->row < n) /* the record was not even found */
        records[err->row] = (pfd_record){.file = -1, .ordinal = -1};
    return failed(at, r, reader->node->op->op->name, status, err);
}

static pfd_status locate_all(const range *at, pfd_error *err)
{
    pfd_work *work = &at->worker->work;
    for (int32_t r = 0; r < at->plan->num_readers; r++) {
        if (at->plan->stream) {
            pfd_data_reader_note_files(&at->plan->readers[r], range_records(at, r),
                                       at->end - at->begin, at->batch->files);
            continue;
        }
        int32_t item = pfd_work_finding(at->plan, r);
        pfd_work_start(work, item);
        PFD_TRY(locate(at, r, err));
        pfd_work_done(work, item, at->end - at->begin);
    }
    return PFD_OK;
}

/* ---- Running ops ----------------------------------------------------------------------------- */

/* The rows that an op computes. */
typedef struct op_rows {
    const pfd_branch_rows *branch; /* NULL: those of the range */
    const pfd_record *records;     /* where errors are */
    const pfd_record *drawn;       /* what compute() is given */
    int64_t n;
} op_rows;

static op_rows rows_of(const range *at, const pfd_plan_op *op)
{
    if (!op->has_rows)
        return (op_rows){.records = range_records(at, op->reader),
                         .drawn = range_records(at, op->drawn_records),
                         .n = at->end - at->begin};
    const pfd_branch_rows *branch = rows_of_branch(at, op, op->branch);
    int32_t is_reader = pfd_op_is_reader(op->node->op->op);
    return (op_rows){.branch = branch, .records = branch->records,
                     .drawn = is_reader ? branch->records : branch->drawn, .n = branch->n};
}

/* As failed(), of a row of a branch. */
static pfd_status failed_in_branch(const range *at, const pfd_plan_op *op, const op_rows *rows,
                                   const char *name, pfd_status status, pfd_error *err)
{
    const pfd_view_tree *tree = at->plan->trees[op->data_set];
    const pfd_branch *branch = &tree->branches[op->branch];
    pfd_check_failed_row(rows->n, err);
    at->worker->failed_reader = op->reader;
    if (err->row >= 0) {
        const pfd_record *record = &rows->records[err->row];
        if (branch->leaf >= 0)
            pfd_data_reader_locate(&tree->leaves[branch->leaf], record, err);
        else
            pfd_view_tree_locate(tree, record, err);
        err->row = pfd_branch_rows_outermost(tree, at->worker->branches[op->data_set], op->branch,
                                             err->row);
    }
    pfd_error_set_op(err, name);
    return status;
}

/* The outputs that the host fills itself, mask and then id, where somebody uses them. */
static void fill_reader_ports(const range *at, const pfd_plan_op *op)
{
    int32_t mask = op->first_output + (int32_t)op->node->op->op->num_outputs, id = mask + 1;
    const pfd_tensor *tensors = at->worker->tensors;
    int32_t has_mask = at->plan->tensors[mask].is_used, has_id = at->plan->tensors[id].is_used;
    if (!has_mask && !has_id) return;
    op_rows rows = rows_of(at, op);
    pfd_reader_ports_fill(rows.records, rows.n, has_mask ? tensors[mask].data : NULL,
                          has_id ? (void *)tensors[id].data : NULL);
}

/* Copies row k to row places[k].  Rows of one number are frequent, and a call for each is slow. */
static void scatter_rows(const pfd_tensor *from, const int64_t *places, int64_t n, uint8_t *to)
{
    const pfd_ragged_row *pointers = from->rows && n > 0 && from->rows[0].data ? from->rows : NULL;
    const size_t bytes = (size_t)from->row_bytes;
    for (int64_t k = 0; k < n; k++) {
        const void *row = pointers ? pointers[k].data : from->data + (size_t)k * bytes;
        uint8_t *place = to + (size_t)places[k] * bytes;
        if (bytes == 8) memcpy(place, row, 8);
        else if (bytes == 4) memcpy(place, row, 4);
        else memcpy(place, row, bytes);
    }
}

/* Takes each row of a field from the branch that it is of. */
static void choose_rows(const range *at, const pfd_plan_op *op)
{
    const pfd_tensor *to = &at->worker->tensors[op->first_output];
    const pfd_view_tree *tree = at->plan->trees[op->data_set];
    for (int32_t s = 0; s < op->num_inputs; s++) {
        int32_t b = tree->branches[op->branch].children[s];
        const pfd_branch_rows *rows = &at->worker->branches[op->data_set][b];
        const pfd_tensor *from = &at->worker->tensors[op->inputs[s]];
        for (int64_t k = 0; to->is_ragged && k < rows->n; k++)
            to->rows[rows->parents[k]] = from->rows[k];
        if (!to->is_ragged)
            scatter_rows(from, rows->parents, rows->n, to->data);
    }
}

/* What an op without inputs of its own is given besides its rows. */
static const void *source_of(const range *at, const pfd_plan_op *op, pfd_join_args *join)
{
    if (op->pieces_of >= 0) {
        const pfd_branch_rows *below = rows_of_branch(at, op, op->pieces_of);
        *join = (pfd_join_args){.num_pieces = below->n, .pieces = below->pieces};
        return join;
    }
    if (!pfd_op_is_reader(op->node->op->op)) return NULL;
    const pfd_view_tree *tree = pfd_plan_tree_of(at->plan, op->reader);
    const pfd_data_reader *reader =
        tree ? &tree->leaves[tree->branches[op->branch].leaf] : &at->plan->readers[op->reader];
    return pfd_source_self(reader->source);
}

static uint64_t random_key_of(const range *at, const pfd_plan_op *op)
{
    int64_t seed = at->plan->readers[op->reader].seed, epoch = at->batch->epoch;
    pfd_op_key *made = &at->worker->keys[op - at->plan->ops];
    if (made->epoch != epoch || made->seed != seed)
        *made = (pfd_op_key){seed, epoch, pfd_node_random_key(op->node, seed, epoch, op->number)};
    return made->key;
}

static pfd_status compute(const range *at, const pfd_plan_op *op, pfd_error *err)
{
    const pfd_node *node = op->node;
    pfd_worker *worker = at->worker;
    pfd_join_args join;
    int32_t item = (int32_t)(op - at->plan->ops);
    worker->rows_last[item] = 0;
    if (!node->op->op->compute) return PFD_OK;
    op_rows rows = rows_of(at, op);
    if (rows.n == 0) return PFD_OK;
    for (int32_t i = 0; i < op->num_inputs; i++)
        worker->ports[i] = &worker->tensors[op->inputs[i]];
    pfd_kernel_call call = {
        .node = node,
        .source = source_of(at, op, &join),
        .num_rows = rows.n,
        .records = rows.drawn,
        .inputs = (const pfd_tensor *const *)worker->ports,
        .outputs = worker->ports + at->plan->most_inputs + op->first_output,
        .output_types = &at->plan->tensors[op->first_output],
        .scratch = worker->scratch,
        .memory = {.lasting = at->arena},
        .random_key = random_key_of(at, op),
        .producer = op->producer,
        .fused = op->fused,
    };
    pfd_work_start(&worker->work, item);
    if (node->op->op->flags & PFD_TAKES_LOCK) pfd_work_wants_lock(&worker->work, item);
    pfd_status status = pfd_kernel_call_run(&call, err);
    worker->rows_last[item] = (uint8_t)call.memory.rows_last;
    pfd_work_done(&worker->work, item, rows.n);
    if (call.memory.elements)
        pfd_work_pads(&worker->work, item, call.memory.elements, call.memory.padded);
    if (status == PFD_OK) return PFD_OK;
    const char *name = pfd_kernel_call_failed_op(&call);
    if (rows.branch) return failed_in_branch(at, op, &rows, name, status, err);
    return failed(at, op->reader, name, status, err);
}

static void count_bytes(const range *at)
{
    int64_t bytes = 0;
    for (int32_t r = 0; r < at->plan->num_readers; r++) {
        const pfd_record *records = range_records(at, r);
        int64_t n = at->end - at->begin, most = 0;
        for (int64_t i = 0; i < n; i++) {
            bytes += records[i].size;
            most = records[i].size > most ? records[i].size : most;
        }
        if (most > at->worker->work.most_bytes)
            pfd_work_keep_largest(&at->worker->work, r, records, n);
    }
    atomic_fetch_add_explicit(&at->worker->work.bytes, bytes, memory_order_relaxed);
}

/* Before the scratch is reset: keeps the ragged rows of the op that others will need. */
static pfd_status keep_ragged_outputs(const range *at, const pfd_plan_op *op, pfd_error *err)
{
    const pfd_record *records = range_records(at, op->reader);
    int32_t rows_last = at->worker->rows_last[op - at->plan->ops];
    for (int32_t i = 0; i < op->num_outputs; i++) {
        const pfd_plan_tensor *tensor = &at->plan->tensors[op->first_output + i];
        pfd_ragged_row *rows = at->worker->tensors[op->first_output + i].rows;
        if (!tensor->is_ragged || !tensor->in_slot) continue;
        pfd_status status = pfd_ragged_rows_keep(tensor, rows, at->end - at->begin, records,
                                                 rows_last ? at->worker->scratch : NULL,
                                                 at->arena, err);
        if (status != PFD_OK) return pfd_scratch_explain(at->arena, status, err);
    }
    return PFD_OK;
}

/* The first tensor from number t on of which this stage makes rows of differing sizes. */
static int32_t next_sized(const range *at, int32_t t)
{
    for (; t < at->plan->num_tensors; t++) {
        const pfd_plan_tensor *tensor = &at->plan->tensors[t];
        if (tensor->is_ragged && !tensor->in_branch && tensor->is_used &&
            at->plan->ops[tensor->op].stage == at->batch->stage)
            break;
    }
    return t;
}

/* Bytes of all that was made of a row's record from tensor `first` on, which is next_sized(), such
 * as the image of a file. */
static int64_t bytes_made(const range *at, int64_t row, int32_t first)
{
    int64_t bytes = 0;
    for (int32_t t = first; t < at->plan->num_tensors; t = next_sized(at, t + 1)) {
        const pfd_tensor *rows = &at->worker->tensors[t];
        bytes += rows->rows[row].num_elements * pfd_dtype_size(rows->type.dtype);
    }
    return bytes;
}

/* Not a part of run_ops(), whose registers it would take: few ranges are slow. */
__attribute__((noinline)) static void keep_slow(const range *at, uint64_t ticks)
{
    int64_t rows = at->end - at->begin, largest = 0, most = 0;
    const pfd_record *records = range_records(at, 0);
    int32_t first = next_sized(at, 0), is_sized = first < at->plan->num_tensors;
    for (int64_t row = 0; row < rows; row++) {
        int64_t bytes = records[row].size;
        if (bytes < 0) bytes = 0; /* PFD_DRAWN */
        if (is_sized) bytes += bytes_made(at, row, first);
        if (bytes <= most) continue;
        most = bytes;
        largest = row;
    }
    pfd_work_keep_slow(&at->worker->work, ticks, rows, &records[largest], most);
}

static pfd_status run_ops(const range *at, pfd_error *err)
{
    pfd_status status = PFD_OK;
    int32_t stage = at->batch->stage, num_ops = at->plan->num_ops;
    set_tensors(at);
    pfd_work_show(&at->worker->work, 0, range_records(at, 0), at->end - at->begin);
    for (int32_t i = 0; i < num_ops && status == PFD_OK; i++) {
        const pfd_plan_op *op = &at->plan->ops[i];
        if (op->stage != stage) continue;
        if (op->is_choice)
            choose_rows(at, op);
        else
            status = compute(at, op, err);
        if (status == PFD_OK && pfd_op_is_reader(op->node->op->op)) fill_reader_ports(at, op);
    }
    for (int32_t i = 0; i < num_ops && at->arena && status == PFD_OK; i++)
        if (at->plan->ops[i].stage == stage)
            status = keep_ragged_outputs(at, &at->plan->ops[i], err);
    uint64_t ticks = pfd_work_slow_ticks(&at->worker->work);
    if (ticks && status == PFD_OK) keep_slow(at, ticks);
    pfd_scratch_reset(at->worker->scratch);
    if (status == PFD_OK && stage == 0) count_bytes(at);
    return status;
}

/* ---- Rows that fail -------------------------------------------------------------------------- */

/* Zeroes a row in all wanted blobs, except the id; with it the mask becomes false. */
static void blank_row(const range *at, int64_t row)
{
    for (int32_t i = 0; i < at->plan->num_tensors; i++) {
        const pfd_plan_tensor *tensor = &at->plan->tensors[i];
        if (tensor->in_slot)
            memset(at->batch->memory + tensor->offset + row * tensor->row_bytes, 0,
                   (size_t)tensor->row_bytes);
    }
    for (int32_t i = 0; i < at->plan->num_ops; i++) {
        const pfd_plan_op *op = &at->plan->ops[i];
        if (!pfd_op_is_reader(op->node->op->op)) continue;
        const pfd_plan_tensor *id =
            &at->plan->tensors[op->first_output + (int32_t)op->node->op->op->num_outputs + 1];
        if (!id->in_slot) continue;
        const pfd_record *record = &range_records(at, op->reader)[row - at->begin];
        int64_t ids[2] = {record->file, record->ordinal};
        memcpy(at->batch->memory + id->offset + row * id->row_bytes, ids, sizeof ids);
    }
}

/* File and ordinal of a row's record in each reader. NULL: no memory. */
static int64_t *ids_of(const range *at, int64_t row)
{
    int64_t *ids = malloc(2 * (size_t)at->plan->num_readers * sizeof *ids);
    for (int32_t r = 0; ids && r < at->plan->num_readers; r++) {
        const pfd_record *record = &range_records(at, r)[row - at->begin];
        ids[2 * r] = record->file;
        ids[2 * r + 1] = record->ordinal;
    }
    return ids;
}

/* Whether the failure of one row may be left out; then it is noted, and *row is that row. With
 * several stages it is padded after the last one: no op is to see it. */
static int32_t leave_out(const range *at, pfd_status *status, int64_t *row, pfd_error *err)
{
    if (*status != PFD_CORRUPT_DATA || err->row < 0) return 0;
    int32_t reader = at->worker->failed_reader;
    int32_t on_error = at->plan->readers[reader].attrs->on_error;
    if (on_error == PFD_ON_ERROR_RAISE) return 0;
    *row = at->begin + err->row;
    int32_t has_stages = at->plan->num_stages > 1;
    pfd_skipped_row skipped = {.row = has_stages ? at->batch->row_numbers[*row] : *row,
                               .place = *row,
                               .filler = range_records(at, reader)[err->row].filler,
                               .reader = reader,
                               .pad = on_error == PFD_ON_ERROR_PAD,
                               .error = err};
    if (skipped.pad && has_stages)
        skipped.ids = ids_of(at, *row);
    else if (skipped.pad)
        blank_row(at, *row);
    if ((!skipped.pad || !has_stages || skipped.ids) && at->skip_row(at->batch, &skipped)) return 1;
    free(skipped.ids);
    *status = pfd_fail_memory(err, sizeof skipped, "the report of a skipped record");
    return 0;
}

/* Runs `step` over a range; if a row fails that may be left out, over the rows before it and the
 * rows after it. Ranges with bad records cost twice the work, ranges without them nothing. */
typedef pfd_status (*range_step)(const range *at, pfd_error *err);
static pfd_status without_skipped_rows(range at, range_step step, pfd_error *err)
{
    while (at.begin < at.end) {
        int64_t row;
        if (atomic_load_explicit(&at.plan->bounds->cancelled, memory_order_relaxed))
            return pfd_fail(err, PFD_CANCELLED, "the batch was given up");
        pfd_status status = step(&at, err);
        if (status == PFD_OK || !leave_out(&at, &status, &row, err)) return status;
        range before = at;
        before.end = row;
        PFD_TRY(without_skipped_rows(before, step, err));
        at.begin = row + 1;
    }
    return PFD_OK;
}

/* ---- Stages over ranges, and over the whole batch -------------------------------------------- */

/* A record that cannot be found is rare: the records after it are looked for again.  Where there
 * are views, whose branches have rows of their own, a part of the range is looked for again as
 * well. */
static pfd_status locate_and_run(const range *at, pfd_error *err)
{
    PFD_TRY(locate_all(at, err));
    if (at->plan->num_trees > 0 && !at->plan->stream) return run_ops(at, err);
    return without_skipped_rows(*at, run_ops, err);
}

/* An op over all rows that are left; rows that it finds damaged are taken out at once. */
static pfd_status run_whole_op(range *at, const pfd_plan_op *op, pfd_error *err)
{
    while (at->end > 0) {
        int64_t row;
        if (atomic_load_explicit(&at->plan->bounds->cancelled, memory_order_relaxed))
            return pfd_fail(err, PFD_CANCELLED, "the batch was given up");
        pfd_status status = compute(at, op, err);
        if (status == PFD_OK) return keep_ragged_outputs(at, op, err);
        if (!leave_out(at, &status, &row, err)) return status;
        pfd_skipped_rows_remove(at->plan, at->batch);
        at->end = at->batch->rows;
    }
    return PFD_OK;
}

static pfd_status run_whole_batch(range *at, pfd_error *err)
{
    pfd_status status = PFD_OK;
    set_tensors(at);
    pfd_work_show(&at->worker->work, 0, range_records(at, 0), at->end - at->begin);
    for (int32_t i = 0; i < at->plan->num_ops && status == PFD_OK; i++)
        if (at->plan->ops[i].stage == at->batch->stage)
            status = run_whole_op(at, &at->plan->ops[i], err);
    pfd_scratch_reset(at->worker->scratch);
    return status;
}

pfd_status pfd_kernel_chain_run(const pfd_plan *plan, pfd_worker *worker, pfd_row_batch *batch,
                                int64_t begin, int64_t end, pfd_skip_row_fn skip_row,
                                pfd_error *err)
{
    const pfd_arenas *arenas = batch->arenas;
    range all = {.plan = plan,
                 .worker = worker,
                 .batch = batch,
                 .skip_row = skip_row,
                 .arena = arenas ? arenas->ranges[begin / plan->chunk_rows] : NULL,
                 .base = begin,
                 .begin = begin,
                 .end = end};
    pfd_work_begin(&worker->work, batch->stage, batch->epoch, batch->step, begin, end - begin);
    if (batch->stage == 0 && batch->row_numbers)
        for (int64_t i = begin; i < end; i++) batch->row_numbers[i] = i;
    range_step step = batch->stage == 0 ? locate_and_run : run_ops;
    pfd_status status = batch->stage % 2 ? run_whole_batch(&all, err)
                                        : without_skipped_rows(all, step, err);
    pfd_scratch_reset(worker->at_scratch);
    pfd_work_end(&worker->work);
    return status;
}
