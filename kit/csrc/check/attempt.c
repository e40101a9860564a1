/* Calls compute() with records, inputs and outputs in guarded memory, twice if requested, and
 * checks every byte that it wrote. */
#include "core/error.h"
#include "core/hash.h"
#include "core/scratch.h"
#include "check/attempt.h"
#include "check/guard.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void pfd_kit_attempt_close(pfd_kit_call *call, pfd_kit_attempt *a)
{
    pfd_kit_scratch_reset(&a->scratch, call->run, "compute()");
    pfd_kit_scratch_close(&a->scratch);
    for (int64_t i = 0; i < a->num_regions; i++) pfd_guard_release(a->regions[i]);
    free(a->regions);
    free(a->outputs);
    free(a->ports);
    *a = (pfd_kit_attempt){.n = 0};
}

/* ---- Before the call ------------------------------------------------------------------------- */
static uint8_t *guard(pfd_kit_attempt *a, int32_t kind, int64_t index, int64_t bytes,
                      int64_t alignment, uint8_t fill)
{
    if (a->num_regions == a->capacity) {
        int64_t capacity = a->capacity ? 2 * a->capacity : 64;
        int32_t *grown = realloc(a->regions, (size_t)capacity * sizeof *grown);
        if (!grown) return NULL;
        a->regions = grown;
        a->capacity = capacity;
    }
    int32_t region = pfd_guard_make(kind, index, bytes, alignment, a->second, fill);
    if (region < 0) return NULL;
    a->regions[a->num_regions++] = region;
    return pfd_guard_at(region)->data;
}

/* A copy that cannot be written to. */
static const uint8_t *guarded_copy(pfd_kit_attempt *a, int32_t kind, int64_t index,
                                   const void *data, int64_t bytes, int64_t alignment)
{
    uint8_t *copy = guard(a, kind, index, bytes, alignment, 0);
    if (!copy) return NULL;
    if (bytes > 0) memcpy(copy, data, (size_t)bytes);
    pfd_guard_make_read_only(a->regions[a->num_regions - 1]);
    return copy;
}

/* The list of records cannot be written to either. */
static int32_t copy_records(pfd_kit_call *call, pfd_kit_attempt *a, const pfd_record *records)
{
    int64_t bytes = a->n * (int64_t)sizeof *a->records;
    pfd_record *copies = (void *)guard(a, PFD_GUARD_RECORDS, 0, bytes, 8, 0);
    int32_t list = copies ? a->regions[a->num_regions - 1] : -1;
    if (!copies) return 0;
    for (int64_t i = 0; i < a->n; i++) {
        copies[i] = records[i];
        if (call->run->options->filler) copies[i].filler = i % 2 == 1;
        if (a->period && i >= a->period) {
            copies[i].data = copies[i - a->period].data;
            continue;
        }
        call->reading = "record";
        call->reading_index = records[i].ordinal;
        copies[i].data = guarded_copy(a, PFD_GUARD_RECORD, records[i].ordinal, records[i].data,
                                      records[i].size, 1);
        call->reading = NULL;
        if (!copies[i].data) return 0;
    }
    pfd_guard_make_read_only(list);
    a->records = copies;
    return 1;
}

static int64_t shape_size(const pfd_row_type *type)
{
    int64_t size = 1;
    for (int32_t i = 0; i < type->ndim; i++) size *= type->shape[i];
    return size;
}

static int32_t is_ragged(const pfd_row_type *type)
{
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] < 0) return 1;
    return 0;
}

static int32_t make_output(pfd_kit_attempt *a, uint32_t port)
{
    const pfd_row_type *type = &a->node->outputs[port];
    pfd_tensor *out = &a->outputs[port];
    int64_t item = pfd_dtype_size(type->dtype);
    *out = (pfd_tensor){.struct_size = sizeof *out, .type = *type, .is_ragged = is_ragged(type)};
    int64_t row = out->is_ragged ? (int64_t)sizeof(pfd_ragged_row) : item * shape_size(type);
    uint8_t fill = a->second ? PFD_KIT_FILL_2 : PFD_KIT_FILL_1;
    uint8_t *memory = guard(a, PFD_GUARD_OUTPUT, port, a->n * row, out->is_ragged ? 8 : item, fill);
    if (!memory) return 0;
    if (out->is_ragged) {
        memset(memory, 0, (size_t)(a->n * row));
        out->rows = (void *)memory;
    } else {
        out->data = memory;
        out->row_bytes = row;
    }
    return 1;
}

static int32_t copy_ragged(pfd_kit_attempt *a, const pfd_tensor *from, pfd_tensor *to,
                           uint32_t port)
{
    int64_t item = pfd_dtype_size(from->type.dtype);
    to->rows = (void *)guard(a, PFD_GUARD_INPUT, port, a->n * (int64_t)sizeof *to->rows, 8, 0);
    if (!to->rows) return 0;
    int32_t list = a->regions[a->num_regions - 1];
    for (int64_t i = 0; i < a->n; i++) {
        to->rows[i] = from->rows[i];
        if (!from->rows[i].data) continue; /* an empty row */
        to->rows[i].data = a->period && i >= a->period
                               ? to->rows[i - a->period].data
                               : guarded_copy(a, PFD_GUARD_INPUT, port, from->rows[i].data,
                                              from->rows[i].num_elements * item, item);
        if (!to->rows[i].data) return 0;
    }
    pfd_guard_make_read_only(list);
    return 1;
}

static int32_t copy_input(pfd_kit_attempt *a, const pfd_tensor *from, pfd_tensor *to, uint32_t port)
{
    *to = *from;
    if (from->is_ragged) return copy_ragged(a, from, to, port);
    /* Written to by no op: only the pages are read-only. */
    const uint8_t *copy = guarded_copy(a, PFD_GUARD_INPUT, port, from->data, a->n * from->row_bytes,
                                       pfd_dtype_size(from->type.dtype));
    to->data = (uint8_t *)(uintptr_t)copy;
    return copy != NULL;
}

static int32_t copy_inputs(pfd_kit_attempt *a, const pfd_tensor *const *inputs)
{
    uint32_t n = a->node->op->op->num_inputs;
    if (n == 0) return 1;
    a->inputs = (void *)guard(a, PFD_GUARD_TENSORS, 0, n * (int64_t)sizeof *a->inputs, 8, 0);
    int32_t list = a->inputs ? a->regions[a->num_regions - 1] : -1;
    for (uint32_t i = 0; a->inputs && i < n; i++)
        if (!copy_input(a, inputs[i], &a->inputs[i], i)) return 0;
    if (a->inputs) pfd_guard_make_read_only(list);
    return a->inputs != NULL;
}

int32_t pfd_kit_attempt_open(pfd_kit_call *call, pfd_kit_attempt *a, const pfd_record *records,
                             const pfd_tensor *const *inputs)
{
    const pfd_op *op = a->node->op->op;
    a->outputs = calloc(op->num_outputs + 1, sizeof *a->outputs);
    a->ports = calloc(op->num_outputs + op->num_inputs + 1, sizeof *a->ports);
    if (!a->outputs || !a->ports || !pfd_kit_scratch_open(&a->scratch)) return 0;
    for (uint32_t i = 0; i < op->num_outputs; i++)
        if (!make_output(a, i)) return 0;
    if (!copy_inputs(a, inputs)) return 0;
    for (uint32_t i = 0; i < op->num_outputs; i++) a->ports[i] = &a->outputs[i];
    for (uint32_t i = 0; i < op->num_inputs; i++) a->ports[op->num_outputs + i] = &a->inputs[i];
    return copy_records(call, a, records);
}

/* ---- The call -------------------------------------------------------------------------------- */
static void check_around_outputs(pfd_kit_call *call, const pfd_kit_attempt *a)
{
    for (uint32_t i = 0; i < a->node->op->op->num_outputs; i++) {
        int64_t outside = pfd_guard_changed(a->regions[i]);
        if (outside)
            pfd_kit_report(call->run, outside < 0 ? "writes-before-output" : "writes-past-output",
                           "compute() wrote %" PRId64 " bytes %s the %" PRId64
                           " rows of output '%s': these are the rows of another thread; write "
                           "row i at data + i * row_bytes, i from 0",
                           outside < 0 ? -outside : outside, outside < 0 ? "before" : "after", a->n,
                           a->node->op->op->outputs[i].name);
    }
}

/* Where compute() says that a record is damaged. */
static void check_byte(pfd_kit_call *call, const pfd_kit_attempt *a, const pfd_error *err)
{
    if (err->row < 0 || err->row >= a->n || err->file[0]) return;
    const pfd_record *record = &a->records[err->row];
    if (err->byte >= -1 && err->byte <= record->size) return;
    pfd_kit_report(call->run, "byte-outside-record",
                   "compute() failed (\"%.200s\") with err->byte = %" PRId64 " of record %" PRId64
                   ", which has %" PRId64 " bytes: host->fail_row() takes the offset in the "
                   "record, from 0, and -1 where there is none; the host adds record.offset",
                   err->message, err->byte, record->ordinal, record->size);
}

pfd_status pfd_kit_attempt_run(pfd_kit_call *call, pfd_kit_attempt *a, pfd_error *err)
{
    const pfd_op *op = a->node->op->op;
    pfd_compute_args args = {
        .struct_size = sizeof args,
        .host = pfd_kit_host(),
        .attrs = call->run->attrs,
        .num_rows = a->n,
        .records = a->records,
        .inputs = (const pfd_tensor *const *)(a->ports + op->num_outputs),
        .outputs = a->ports,
        .scratch = a->scratch.scratch,
        .random_key = pfd_hash_word(1, (uint64_t)call->run->options->seed),
        .num_inputs = op->num_inputs,
        .num_outputs = op->num_outputs,
        .source = pfd_op_is_reader(op) ? call->run->source : NULL,
    };
    int64_t distinct = a->period && a->period < a->n ? a->period : a->n;
    PFD_TRY(pfd_kit_try_group(call, a->records, distinct, err));
    pfd_error_clear(err);
    call->second = a->second;
    call->computing = &args;
    pfd_kit_enter(call, "compute()", &a->scratch);
    pfd_status status = pfd_kit_leave(call, op->compute(&args, err), err);
    call->computing = NULL;
    call->second = 0;
    check_around_outputs(call, a);
    if (status == PFD_CORRUPT_DATA && (err->row >= a->n || (err->row < 0 && a->n > 1)))
        pfd_kit_report(call->run, "no-row",
                       "compute() failed with PFD_CORRUPT_DATA and err->row = %" PRId64
                       " of %" PRId64
                       " rows: say with host->fail_row() which row it is, so that on_error can "
                       "leave out this one record",
                       err->row, a->n);
    if (status != PFD_OK && call->run->options->mode != PFD_KIT_TYPES) check_byte(call, a, err);
    return status;
}

/* ---- The interface --------------------------------------------------------------------------- */
pfd_status pfd_kit_attempt_repeat(pfd_kit_call *call, const pfd_kit_attempt *first,
                                  const pfd_record *records, const pfd_tensor *const *inputs,
                                  pfd_error *err)
{
    pfd_kit_attempt again = {
        .node = first->node, .n = first->n, .period = first->period, .second = 1};
    pfd_status status = PFD_OK;
    if (!pfd_kit_attempt_open(call, &again, records, inputs))
        status = pfd_fail_memory(err, first->n, "guarded memory");
    if (status == PFD_OK) {
        status = pfd_kit_attempt_run(call, &again, err);
        if (status == PFD_OK)
            pfd_kit_compare_attempts(call, first, &again);
        else if (!call->run->injected)
            pfd_kit_report(call->run, "not-repeatable",
                           "compute() failed when it was called a second time with equal records: "
                           "%.300s",
                           err->message);
    }
    pfd_kit_attempt_close(call, &again);
    return status;
}

pfd_status pfd_kit_compute_with(pfd_kit_call *call, const pfd_tensor *const *inputs,
                                const pfd_record *records, int64_t n, uint64_t *hashes,
                                pfd_error *err)
{
    const pfd_kit_options *options = call->run->options;
    pfd_kit_attempt first = {.node = call->run->node, .n = n};
    pfd_status status = PFD_OK;
    if (!pfd_kit_attempt_open(call, &first, records, inputs))
        status = pfd_fail_memory(err, n, "guarded memory");
    if (status == PFD_OK) status = pfd_kit_attempt_run(call, &first, err);
    /* A row that is not written is told as that, also where it is found among damaged samples. */
    if (status == PFD_OK && (options->twice || pfd_kit_looks_unwritten(&first)))
        status = pfd_kit_attempt_repeat(call, &first, records, inputs, err);
    for (int64_t i = 0; status == PFD_OK && i < n; i++)
        hashes[i] = pfd_kit_hash_row(call, &first, i);
    if (status == PFD_OK) pfd_kit_check_equal_rows(call, &first);
    pfd_kit_attempt_close(call, &first);
    return status;
}

pfd_status pfd_kit_compute(pfd_kit_call *call, const pfd_record *records, int64_t n,
                           uint64_t *hashes, pfd_error *err)
{
    const pfd_node *node = call->run->node;
    uint64_t random_key = pfd_hash_word(1, (uint64_t)call->run->options->seed);
    const pfd_tensor **inputs = calloc(node->op->op->num_inputs + 1, sizeof *inputs);
    pfd_scratch *plain = pfd_scratch_create();
    pfd_status status = inputs && plain ? PFD_OK : pfd_fail_memory(err, n, "a scratch");
    if (status == PFD_OK)
        status = pfd_kit_inputs_make(node, records, n, random_key, call->run->source, plain, inputs,
                                     err);
    if (status == PFD_OK) pfd_kit_damage_inputs(call->run, inputs, n, plain);
    if (status == PFD_OK) status = pfd_kit_compute_with(call, inputs, records, n, hashes, err);
    pfd_scratch_free(plain);
    free(inputs);
    return status;
}
