/* Calls compute() with records, inputs and outputs in guarded memory, twice if requested, and
 * checks every byte that it wrote. */
#include "core/error.h"
#include "core/hash.h"
#include "core/scratch.h"
#include "kit/guard.h"
#include "kit/run_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One call of compute(). */
typedef struct attempt {
    const pfd_node *node;
    int64_t n;
    int32_t *regions; /* of all that was copied for the call; the outputs come first */
    int64_t num_regions, capacity;
    pfd_record *records;
    pfd_tensor *tensors; /* outputs, then inputs */
    pfd_tensor **ports;
    pfd_kit_scratch scratch;
    int32_t second;
} attempt;

static void attempt_close(pfd_kit_call *call, attempt *a)
{
    pfd_kit_scratch_reset(&a->scratch, call->run, "compute()");
    pfd_kit_scratch_close(&a->scratch);
    for (int64_t i = 0; i < a->num_regions; i++) pfd_guard_release(a->regions[i]);
    free(a->regions);
    free(a->records);
    free(a->tensors);
    free(a->ports);
    *a = (attempt){.n = 0};
}

/* ---- Before the call ---------------------------------------------------------------------------
 */
static uint8_t *guard(attempt *a, int32_t kind, int64_t index, int64_t bytes, int64_t alignment,
                      uint8_t fill)
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
static const uint8_t *guarded_copy(attempt *a, int32_t kind, int64_t index, const void *data,
                                   int64_t bytes, int64_t alignment)
{
    uint8_t *copy = guard(a, kind, index, bytes, alignment, 0);
    if (!copy) return NULL;
    if (bytes > 0) memcpy(copy, data, (size_t)bytes);
    pfd_guard_make_read_only(a->regions[a->num_regions - 1]);
    return copy;
}

static int32_t copy_records(pfd_kit_call *call, attempt *a, const pfd_record *records)
{
    a->records = calloc((size_t)a->n, sizeof *a->records);
    if (!a->records) return 0;
    for (int64_t i = 0; i < a->n; i++) {
        a->records[i] = records[i];
        call->reading = "record";
        call->reading_index = records[i].ordinal;
        a->records[i].data = guarded_copy(a, PFD_GUARD_RECORD, records[i].ordinal, records[i].data,
                                          records[i].size, 1);
        call->reading = NULL;
        if (call->run->options->filler) a->records[i].filler = i % 2 == 1;
        if (!a->records[i].data) return 0;
    }
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

static int32_t make_output(attempt *a, uint32_t port)
{
    const pfd_row_type *type = &a->node->outputs[port];
    pfd_tensor *out = &a->tensors[port];
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

static int32_t copy_ragged(attempt *a, const pfd_tensor *from, pfd_tensor *to, uint32_t port)
{
    int64_t item = pfd_dtype_size(from->type.dtype);
    to->rows = (void *)guard(a, PFD_GUARD_INPUT, port, a->n * (int64_t)sizeof *to->rows, 8, 0);
    if (!to->rows) return 0;
    for (int64_t i = 0; i < a->n; i++) {
        to->rows[i] = from->rows[i];
        to->rows[i].data = guarded_copy(a, PFD_GUARD_INPUT, port, from->rows[i].data,
                                        from->rows[i].num_elements * item, item);
        if (!to->rows[i].data) return 0;
    }
    return 1;
}

static int32_t copy_input(attempt *a, const pfd_tensor *from, pfd_tensor *to, uint32_t port)
{
    *to = *from;
    if (from->is_ragged) return copy_ragged(a, from, to, port);
    /* Written to by no op: only the pages are read-only. */
    const uint8_t *copy = guarded_copy(a, PFD_GUARD_INPUT, port, from->data, a->n * from->row_bytes,
                                       pfd_dtype_size(from->type.dtype));
    to->data = (uint8_t *)(uintptr_t)copy;
    return copy != NULL;
}

static int32_t attempt_open(pfd_kit_call *call, attempt *a, const pfd_record *records,
                            const pfd_tensor *const *inputs)
{
    const pfd_op *op = a->node->op->op;
    uint32_t ports = op->num_outputs + op->num_inputs;
    a->tensors = calloc(ports, sizeof *a->tensors);
    a->ports = calloc(ports, sizeof *a->ports);
    if (!a->tensors || !a->ports || !pfd_kit_scratch_open(&a->scratch)) return 0;
    for (uint32_t i = 0; i < ports; i++) a->ports[i] = &a->tensors[i];
    for (uint32_t i = 0; i < op->num_outputs; i++)
        if (!make_output(a, i)) return 0;
    for (uint32_t i = 0; i < op->num_inputs; i++)
        if (!copy_input(a, inputs[i], &a->tensors[op->num_outputs + i], i)) return 0;
    return copy_records(call, a, records);
}

/* ---- The call
 * ------------------------------------------------------------------------------------ */
static void check_around_outputs(pfd_kit_call *call, const attempt *a)
{
    for (uint32_t i = 0; i < a->node->op->op->num_outputs; i++) {
        int64_t outside = pfd_guard_changed(a->regions[i]);
        if (outside)
            pfd_kit_report(call->run, outside < 0 ? "writes-before-output" : "writes-past-output",
                           "compute() wrote %" PRId64 " bytes %s the %" PRId64
                           " rows of output '%s': these are the rows of another thread; write "
                           "row i at data + i * row_bytes, i from 0",
                           outside < 0 ? -outside : outside, outside < 0 ? "before" : "after",
                           a->n, a->node->op->op->outputs[i].name);
    }
}

/* Where compute() says that a record is damaged. */
static void check_byte(pfd_kit_call *call, const attempt *a, const pfd_error *err)
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

static pfd_status attempt_run(pfd_kit_call *call, attempt *a, pfd_error *err)
{
    const pfd_op *op = a->node->op->op;
    pfd_compute_args args = {
        .struct_size = sizeof args,
        .host = pfd_kit_host(),
        .attrs = pfd_attrs_struct(a->node->attrs),
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
    PFD_TRY(pfd_kit_try_group(call, a->records, a->n, err));
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
    if (status != PFD_OK && !call->run->options->types) check_byte(call, a, err);
    return status;
}

/* ---- What it wrote
 * ------------------------------------------------------------------------------- */
static const char *shape_fault(const pfd_row_type *type, const pfd_ragged_row *row)
{
    int64_t product = 1, varying = 0, fixed = 1;
    for (int32_t i = 0; i < type->ndim; i++) {
        varying += type->shape[i] < 0;
        fixed *= type->shape[i] < 0 ? 1 : type->shape[i];
    }
    if (!row->shape) {
        if (varying > 1) return "shape is NULL, though more than one dimension varies";
        return fixed > 0 && row->num_elements % fixed != 0
                   ? "num_elements is not a multiple of the fixed dimensions"
                   : NULL;
    }
    for (int32_t i = 0; i < type->ndim; i++) {
        if (row->shape[i] < 0) return "a dimension is negative";
        if (type->shape[i] >= 0 && row->shape[i] != type->shape[i])
            return "a fixed dimension is another one than infer() said";
        product *= row->shape[i];
    }
    return product == row->num_elements ? NULL : "num_elements is not the product of the shape";
}

static const char *ragged_fault(const pfd_row_type *type, const pfd_ragged_row *row)
{
    if (row->num_elements < 0) return "num_elements is negative";
    if (row->num_elements == 0) return NULL;
    if (!row->data) return "data is NULL";
    if ((uintptr_t)row->data % (uintptr_t)pfd_dtype_size(type->dtype))
        return "data is not aligned for the dtype";
    return shape_fault(type, row);
}

static uint64_t hash_ragged(pfd_kit_call *call, const attempt *a, uint32_t port, int64_t row)
{
    const pfd_tensor *tensor = &a->tensors[port];
    const pfd_ragged_row *found = &tensor->rows[row];
    call->reading = "a ragged row, number";
    call->reading_index = row;
    const char *fault = ragged_fault(&tensor->type, found);
    uint64_t hash = 0;
    if (fault)
        pfd_kit_report(call->run, "ragged-row",
                       "compute() filled row %" PRId64 " of output '%s' in wrongly: %s", row,
                       a->node->op->op->outputs[port].name, fault);
    else
        hash = pfd_hash_bytes(0, found->data,
                              found->num_elements * pfd_dtype_size(tensor->type.dtype));
    call->reading = NULL;
    return pfd_hash_word(hash, (uint64_t)found->num_elements);
}

static uint64_t hash_row(pfd_kit_call *call, const attempt *a, int64_t row)
{
    uint64_t hash = 0;
    int32_t only = call->run->options->only_output;
    for (uint32_t i = 0; i < a->node->op->op->num_outputs; i++) {
        const pfd_tensor *tensor = &a->tensors[i];
        if (only > 0 && i != (uint32_t)only - 1) continue;
        hash = pfd_hash_word(hash, tensor->is_ragged
                                       ? hash_ragged(call, a, i, row)
                                       : pfd_hash_bytes(0, tensor->data + row * tensor->row_bytes,
                                                        tensor->row_bytes));
    }
    return hash | 2;
}

static int32_t same_shape(const pfd_row_type *type, const pfd_ragged_row *a,
                          const pfd_ragged_row *b)
{
    if (a->num_elements != b->num_elements) return 0;
    return !a->shape || !b->shape ||
           !memcmp(a->shape, b->shape, (size_t)type->ndim * sizeof *a->shape);
}

/* What PFD_EQUAL_ROWS promises, of rows that are sound. */
static void check_equal_rows(pfd_kit_call *call, const attempt *a)
{
    const pfd_op *op = a->node->op->op;
    for (uint32_t i = 0; op->flags & PFD_EQUAL_ROWS && i < op->num_outputs; i++) {
        const pfd_tensor *out = &a->tensors[i];
        for (int64_t row = 1; out->is_ragged && row < a->n; row++) {
            if (same_shape(&out->type, &out->rows[0], &out->rows[row])) continue;
            pfd_kit_report(call->run, "rows-not-equal",
                           "rows 0 and %" PRId64 " of output '%s' differ in shape, though the op "
                           "has PFD_EQUAL_ROWS: leave the flag out, or make the rows of each call "
                           "equal",
                           row, op->outputs[i].name);
            return;
        }
    }
}

static void report_unwritten(pfd_kit_call *call, const char *output, int64_t row, int64_t ordinal,
                             int64_t first, int64_t unwritten, int64_t row_bytes)
{
    if (unwritten == row_bytes)
        pfd_kit_report(call->run, "row-unwritten",
                       "compute() did not write row %" PRId64 " of output '%s' (record %" PRId64
                       ") and returned PFD_OK: what a batch before left there is delivered; write "
                       "every row, or fail with host->fail_row()",
                       row, output, ordinal);
    else
        pfd_kit_report(call->run, "bytes-unwritten",
                       "compute() wrote only a part of row %" PRId64 " of output '%s' (record "
                       "%" PRId64 "): %" PRId64 " of its %" PRId64 " bytes, the first at %" PRId64
                       ", keep what was there before; write all of them, also where the record "
                       "is short (zeros, for example)",
                       row, output, ordinal, unwritten, row_bytes, first);
}

static void compare_row(pfd_kit_call *call, const attempt *a, const attempt *b, uint32_t port,
                        int64_t row)
{
    int64_t bytes = a->tensors[port].row_bytes, unwritten = 0, first = -1, different = -1;
    const uint8_t *one = a->tensors[port].data + row * bytes;
    const uint8_t *two = b->tensors[port].data + row * bytes;
    for (int64_t i = 0; i < bytes; i++) {
        if (one[i] == two[i]) continue;
        if (one[i] == PFD_KIT_FILL_1 && two[i] == PFD_KIT_FILL_2) {
            if (first < 0) first = i;
            unwritten++;
        } else if (different < 0) {
            different = i;
        }
    }
    const char *output = a->node->op->op->outputs[port].name;
    if (unwritten)
        report_unwritten(call, output, row, a->records[row].ordinal, first, unwritten, bytes);
    else if (different >= 0)
        pfd_kit_report(call->run, "not-repeatable",
                       "two calls of compute() with equal records gave different bytes (output "
                       "'%s', row %" PRId64 ", record %" PRId64 ", byte %" PRId64
                       "): what it writes must depend on record, attrs and random_key only, not on "
                       "time, addresses, threads, memory that it did not write, or calls before",
                       output, row, a->records[row].ordinal, different);
}

static void compare(pfd_kit_call *call, const attempt *a, const attempt *b)
{
    for (uint32_t port = 0; port < a->node->op->op->num_outputs; port++)
        for (int64_t row = 0; row < a->n; row++) {
            if (!a->tensors[port].is_ragged) {
                compare_row(call, a, b, port, row);
            } else if (hash_ragged(call, a, port, row) != hash_ragged(call, b, port, row)) {
                pfd_kit_report(call->run, "not-repeatable",
                               "two calls of compute() with equal records gave different rows "
                               "(output '%s', row %" PRId64 ", record %" PRId64
                               "): what it writes must depend on record, attrs and random_key only",
                               a->node->op->op->outputs[port].name, row, a->records[row].ordinal);
            }
        }
}

static pfd_status compute_again(pfd_kit_call *call, const attempt *first, const pfd_record *records,
                                const pfd_tensor *const *inputs, pfd_error *err)
{
    attempt again = {.node = first->node, .n = first->n, .second = 1};
    pfd_status status = PFD_OK;
    if (!attempt_open(call, &again, records, inputs))
        status = pfd_fail_memory(err, first->n, "guarded memory");
    if (status == PFD_OK) {
        status = attempt_run(call, &again, err);
        if (status == PFD_OK)
            compare(call, first, &again);
        else if (!call->run->injected)
            pfd_kit_report(call->run, "not-repeatable",
                           "compute() failed when it was called a second time with equal records: "
                           "%.300s",
                           err->message);
    }
    attempt_close(call, &again);
    return status;
}

pfd_status pfd_kit_compute_with(pfd_kit_call *call, const pfd_tensor *const *inputs,
                                const pfd_record *records, int64_t n, uint64_t *hashes,
                                pfd_error *err)
{
    attempt first = {.node = call->run->node, .n = n};
    pfd_status status = PFD_OK;
    if (!attempt_open(call, &first, records, inputs))
        status = pfd_fail_memory(err, n, "guarded memory");
    if (status == PFD_OK) status = attempt_run(call, &first, err);
    if (status == PFD_OK && call->run->options->twice)
        status = compute_again(call, &first, records, inputs, err);
    for (int64_t i = 0; status == PFD_OK && i < n; i++) hashes[i] = hash_row(call, &first, i);
    if (status == PFD_OK) check_equal_rows(call, &first);
    attempt_close(call, &first);
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
