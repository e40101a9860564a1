/* Locates the records of a row range and runs parsers and decoders over it, one after the other. */
#include "loader/kernel_chain.h"
#include "core/error.h"
#include "core/random.h"
#include "dataset/dataset.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct range {
    const pfd_plan *plan;
    pfd_worker *worker;
    pfd_slot *slot;
    int64_t begin, end;
} range;

void pfd_worker_close(const pfd_plan *plan, pfd_worker *worker)
{
    for (int32_t i = 0; worker->records && i < plan->num_readers; i++) free(worker->records[i]);
    free(worker->records);
    free(worker->memory);
    free(worker->positions);
    free(worker->tensors);
    free(worker->inputs);
    pfd_scratch_free(worker->at_scratch);
    pfd_scratch_free(worker->scratch);
    *worker = (pfd_worker){0};
}

int32_t pfd_worker_open(const pfd_plan *plan, pfd_worker *worker)
{
    size_t rows = (size_t)plan->chunk_rows, tensors = (size_t)plan->num_tensors;
    worker->memory = aligned_alloc(64, (size_t)(plan->worker_bytes ? plan->worker_bytes : 64));
    worker->records = calloc((size_t)plan->num_readers, sizeof *worker->records);
    worker->positions = malloc(rows * sizeof *worker->positions);
    worker->tensors = calloc(tensors, sizeof *worker->tensors);
    worker->inputs = calloc(tensors, sizeof *worker->inputs);
    worker->at_scratch = pfd_scratch_create();
    worker->scratch = pfd_scratch_create();
    if (!worker->memory || !worker->records || !worker->positions || !worker->tensors ||
        !worker->inputs || !worker->at_scratch || !worker->scratch)
        return 0;
    for (int32_t i = 0; i < plan->num_readers; i++) {
        worker->records[i] = calloc(rows, sizeof **worker->records);
        if (!worker->records[i]) return 0;
    }
    return 1;
}

/* The rows of the range that reader r stands behind. */
static const pfd_record *range_records(const range *at, int32_t r)
{
    return at->slot->records ? at->slot->records[r] + at->begin : at->worker->records[r];
}

static void set_tensors(const range *at)
{
    for (int32_t i = 0; i < at->plan->num_tensors; i++) {
        const pfd_plan_tensor *tensor = &at->plan->tensors[i];
        uint8_t *data = tensor->in_slot ? at->slot->memory + at->begin * tensor->row_bytes
                                        : at->worker->memory;
        at->worker->tensors[i] = (pfd_tensor){
            .data = data + tensor->offset, .row_bytes = tensor->row_bytes, .type = tensor->type};
    }
}

/* Makes the error of an op's function whole: the op, and the place of the record that failed. */
static pfd_status failed(const range *at, int32_t reader, const char *op, pfd_status status,
                         pfd_error *err)
{
    if (err->status != status || status > PFD_OK)
        status = pfd_fail(err, PFD_INTERNAL, "the op returned status %d without an error", status);
    if (err->row < 0 || err->row >= at->end - at->begin) err->row = -1;
    at->worker->failed_reader = reader;
    const pfd_record *record = err->row < 0 ? NULL : range_records(at, reader) + err->row;
    pfd_data_reader_locate(&at->plan->readers[reader], record, err);
    pfd_error_set_op(err, op);
    return status;
}

static pfd_status locate(const range *at, int32_t r, pfd_error *err)
{
    const pfd_data_reader *reader = &at->plan->readers[r];
    int64_t n = at->end - at->begin;
    int64_t *positions = at->worker->positions;
    for (int64_t i = 0; i < n; i++) positions[i] = at->slot->first_positions[r] + at->begin + i;
    pfd_record *records = at->worker->records[r];
    pfd_error_init(err);
    pfd_status status = reader->chain->methods->at(reader->chain, at->slot->epoch, positions, n,
                                                   at->worker->at_scratch, records, err);
    if (status == PFD_OK) return PFD_OK;
    if (err->row >= 0 && err->row < n) /* it could not even be found */
        records[err->row] = (pfd_record){.file = -1, .ordinal = -1};
    return failed(at, r, reader->node->op->op->name, status, err);
}

/* The outputs that the host fills itself: mask, then id. */
static void fill_reader_ports(const range *at, const pfd_plan_op *op)
{
    const pfd_record *records = range_records(at, op->reader);
    int32_t mask = op->first_output + (int32_t)op->node->op->op->num_outputs, id = mask + 1;
    int64_t n = at->end - at->begin, *ids = (int64_t *)(void *)at->worker->tensors[id].data;
    for (int64_t i = 0; i < n; i++) {
        at->worker->tensors[mask].data[i] = !records[i].filler;
        ids[2 * i] = records[i].file;
        ids[2 * i + 1] = records[i].ordinal;
    }
}

static pfd_status compute(const range *at, const pfd_plan_op *op, pfd_error *err)
{
    const pfd_node *node = op->node;
    pfd_worker *worker = at->worker;
    for (uint32_t i = 0; i < node->op->op->num_inputs; i++)
        worker->inputs[i] = worker->tensors[op->inputs[i]];
    const pfd_record *records = range_records(at, op->reader);
    const pfd_data_reader *reader = &at->plan->readers[op->reader];
    pfd_compute_args args = {
        .struct_size = sizeof args,
        .host = pfd_host_table(),
        .attrs = pfd_attrs_struct(node->attrs),
        .num_rows = at->end - at->begin,
        .records = records,
        .inputs = worker->inputs,
        .outputs = worker->tensors + op->first_output,
        .scratch = worker->scratch,
        .random_key = pfd_random_key(reader->seed, at->slot->epoch,
                                     node->name[0] ? node->name : node->op->op->name),
    };
    pfd_error_init(err);
    pfd_status status = node->op->op->compute(&args, err);
    pfd_scratch_reset(worker->scratch);
    return status == PFD_OK ? PFD_OK : failed(at, op->reader, node->op->op->name, status, err);
}

static void count_bytes(const range *at)
{
    int64_t bytes = 0;
    for (int32_t r = 0; r < at->plan->num_readers; r++) {
        const pfd_record *records = range_records(at, r);
        for (int64_t i = 0; i < at->end - at->begin; i++) bytes += records[i].size;
    }
    atomic_fetch_add_explicit(&at->worker->bytes, bytes, memory_order_relaxed);
}

static pfd_status run_ops(const range *at, pfd_error *err)
{
    set_tensors(at);
    if (!at->slot->records)
        for (int32_t r = 0; r < at->plan->num_readers; r++) PFD_TRY(locate(at, r, err));
    for (int32_t i = 0; i < at->plan->num_ops; i++) {
        const pfd_plan_op *op = &at->plan->ops[i];
        PFD_TRY(compute(at, op, err));
        if (pfd_op_is_reader(op->node->op->op)) fill_reader_ports(at, op);
    }
    count_bytes(at);
    return PFD_OK;
}

/* Zeroes a row in all wanted blobs, except the id; with it the mask becomes false. */
static void blank_row(const range *at, int64_t row)
{
    for (int32_t i = 0; i < at->plan->num_tensors; i++) {
        const pfd_plan_tensor *tensor = &at->plan->tensors[i];
        if (tensor->in_slot)
            memset(at->slot->memory + tensor->offset + row * tensor->row_bytes, 0,
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
        memcpy(at->slot->memory + id->offset + row * id->row_bytes, ids, sizeof ids);
    }
}

/* A failing range is run again without the failing record: the rows before it, then those after it.
 * That costs twice the work where records are bad, and nothing where none is. */
static pfd_status run_rows(range at, pfd_bad_row_fn bad_row, pfd_error *err)
{
    while (at.begin < at.end) {
        pfd_status status = run_ops(&at, err);
        if (status == PFD_OK) return PFD_OK;
        if (status != PFD_CORRUPT_DATA || err->row < 0) return status;
        int32_t reader = at.worker->failed_reader;
        const pfd_reader_attrs *attrs = at.plan->readers[reader].attrs;
        if (!strcmp(attrs->on_error, "raise")) return status;

        int64_t row = at.begin + err->row;
        pfd_bad_row bad = {.row = row,
                           .filler = range_records(&at, reader)[err->row].filler,
                           .reader = reader,
                           .pad = !strcmp(attrs->on_error, "pad"),
                           .error = *err};
        if (bad.pad) blank_row(&at, row);
        if (!bad_row(at.slot, &bad))
            return pfd_fail_memory(err, sizeof(pfd_bad_row), "the report of a bad record");
        range before = at;
        before.end = row;
        PFD_TRY(run_rows(before, bad_row, err));
        at.begin = row + 1;
    }
    return PFD_OK;
}

pfd_status pfd_kernel_chain_run(const pfd_plan *plan, pfd_worker *worker, pfd_slot *slot,
                                int64_t begin, int64_t end, pfd_bad_row_fn bad_row, pfd_error *err)
{
    range at = {.plan = plan, .worker = worker, .slot = slot, .begin = begin, .end = end};
    pfd_status status = run_rows(at, bad_row, err);
    pfd_scratch_reset(worker->at_scratch);
    return status;
}
