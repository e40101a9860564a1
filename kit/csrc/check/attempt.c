/* Calls compute() with all of its arguments in guarded memory, and compares its rows with the rows
 * of an equal call. */
#include "check/attempt.h"

#include "check/guard.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/scratch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The rows that compute() wrote: are they sound, and are two equal? ----------------------- */
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

static uint64_t hash_ragged(pfd_kit_call *call, const pfd_kit_attempt *a, uint32_t port,
                            int64_t row)
{
    const pfd_tensor *tensor = &a->outputs[port];
    const pfd_ragged_row *found = &tensor->rows[row];
    call->reading = "a ragged row, number";
    call->reading_index = row;
    const char *fault = ragged_fault(&tensor->type, found);
    uint64_t hash = 0;
    if (fault)
        pfd_kit_report(call->run, "ragged-row",
                       "compute() gave a wrong row %" PRId64 " of output '%s': %s", row,
                       a->node->op->op->outputs[port].name, fault);
    else
        hash = pfd_hash_bytes(0, found->data,
                              found->num_elements * pfd_dtype_size(tensor->type.dtype));
    call->reading = NULL;
    return pfd_hash_word(hash, (uint64_t)found->num_elements);
}

/* Hashes a row of all outputs; never 0 or 1. */
static uint64_t hash_row(pfd_kit_call *call, const pfd_kit_attempt *a, int64_t row)
{
    uint64_t hash = 0;
    int32_t only = call->run->options->only_output;
    for (uint32_t i = 0; i < a->node->op->op->num_outputs; i++) {
        const pfd_tensor *tensor = &a->outputs[i];
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

/* Checks what PFD_EQUAL_ROWS promises; the rows are sound. */
static void check_equal_rows(pfd_kit_call *call, const pfd_kit_attempt *a)
{
    const pfd_op *op = a->node->op->op;
    for (uint32_t i = 0; op->flags & PFD_EQUAL_ROWS && i < op->num_outputs; i++) {
        const pfd_tensor *out = &a->outputs[i];
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

/* ---- Rows of equal records ------------------------------------------------------------------- */
static int32_t is_nan_at(int32_t dtype, const uint8_t *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)pfd_dtype_size(dtype)); /* little-endian */
    if (dtype == PFD_FLOAT64) return bits << 1 > UINT64_C(0x7FF0000000000000) << 1;
    if (dtype == PFD_FLOAT32) return (bits & 0x7FFFFFFF) > 0x7F800000;
    if (dtype == PFD_FLOAT16) return (bits & 0x7FFF) > 0x7C00;
    return dtype == PFD_BFLOAT16 && (bits & 0x7FFF) > 0x7F80;
}

/* Returns the first byte that differs, where NaN equals NaN; -1: none. */
static int64_t first_different(int32_t dtype, const uint8_t *one, const uint8_t *two,
                               int64_t bytes)
{
    int64_t item = pfd_dtype_size(dtype);
    if (bytes <= 0 || !memcmp(one, two, (size_t)bytes)) return -1;
    for (int64_t i = 0; i < bytes; i++) {
        int64_t begin = i - i % item;
        if (one[i] == two[i]) continue;
        if (!is_nan_at(dtype, one + begin) || !is_nan_at(dtype, two + begin)) return i;
    }
    return -1;
}

/* Returns 0 where the rows of one output are equal, or not sound.  NaN equals NaN with any bits:
 * the compiler chooses which of two operands gives the bits. */
static int32_t outputs_differ(const pfd_kit_attempt *a, int64_t row_a, const pfd_kit_attempt *b,
                              int64_t row_b, uint32_t port, pfd_kit_difference *out)
{
    const pfd_tensor *one = &a->outputs[port], *two = &b->outputs[port];
    int32_t dtype = one->type.dtype;
    const uint8_t *data[2];
    int64_t bytes = one->row_bytes;
    *out = (pfd_kit_difference){.output = port, .byte = -1};
    if (one->is_ragged) {
        const pfd_ragged_row *rows[2] = {&one->rows[row_a], &two->rows[row_b]};
        if (ragged_fault(&one->type, rows[0]) || ragged_fault(&two->type, rows[1])) return 0;
        if (!same_shape(&one->type, rows[0], rows[1])) return 1;
        bytes = rows[0]->num_elements * pfd_dtype_size(dtype);
        data[0] = rows[0]->data, data[1] = rows[1]->data;
    } else {
        data[0] = one->data + row_a * bytes, data[1] = two->data + row_b * bytes;
    }
    int64_t byte = first_different(dtype, data[0], data[1], bytes);
    if (byte < 0) return 0;
    *out = (pfd_kit_difference){port, byte, data[0][byte], data[1][byte]};
    return 1;
}

int32_t pfd_kit_rows_differ(const pfd_kit_attempt *a, int64_t row_a, const pfd_kit_attempt *b,
                            int64_t row_b, pfd_kit_difference *out)
{
    for (uint32_t port = 0; port < a->node->op->op->num_outputs; port++)
        if (outputs_differ(a, row_a, b, row_b, port, out)) return 1;
    return 0;
}

/* ---- Two equal calls over memory with different fill: is all written, and the same? ---------- */
const char *pfd_kit_row_words(const pfd_kit_call *call, const pfd_kit_attempt *a, int64_t row,
                              char out[PFD_KIT_ROW_WORDS])
{
    if (call->row_words)
        snprintf(out, PFD_KIT_ROW_WORDS, "a made-up row: %s", call->row_words[row % a->period]);
    else
        snprintf(out, PFD_KIT_ROW_WORDS, "record %" PRId64, a->records[row].ordinal);
    return out;
}

int32_t pfd_kit_looks_unwritten(const pfd_kit_attempt *a)
{
    for (uint32_t port = 0; port < a->node->op->op->num_outputs; port++) {
        const pfd_tensor *out = &a->outputs[port];
        int64_t bytes = out->row_bytes;
        for (int64_t row = 0; !out->is_ragged && bytes >= 4 && row < a->n; row++) {
            const uint8_t *data = out->data + row * bytes;
            if (data[0] == PFD_KIT_FILL_1 && !memcmp(data, data + 1, (size_t)bytes - 1)) return 1;
        }
    }
    return 0;
}

/* ---- One dense output ------------------------------------------------------------------------ */
typedef struct output_marks {
    int64_t rows_without, first_without; /* rows in which no byte was written */
    int64_t rows_partly, first_partly;
    int64_t first_byte, num_bytes; /* bytes that this row lacks */
    int64_t end;                   /* no row has a written byte from here on */
    int64_t prefix;                /* bytes of all rows up to the first one not written */
    int64_t written;               /* bytes of all rows */
} output_marks;

static void mark_row(output_marks *marks, int64_t row, const uint8_t *one, const uint8_t *two,
                     int64_t bytes)
{
    int64_t first = -1, count = 0, end = 0;
    for (int64_t i = 0; i < bytes; i++) {
        if (one[i] != PFD_KIT_FILL_1 || two[i] != PFD_KIT_FILL_2) {
            end = i + 1;
            continue;
        }
        if (first < 0) first = i;
        count++;
    }
    if (marks->prefix < 0 && count > 0) marks->prefix = row * bytes + first;
    marks->written += bytes - count;
    if (end > marks->end) marks->end = end;
    if (count == 0) return;
    if (count == bytes) {
        if (marks->rows_without++ == 0) marks->first_without = row;
    } else if (marks->rows_partly++ == 0) {
        marks->first_partly = row;
        marks->first_byte = first;
        marks->num_bytes = count;
    }
}

static output_marks mark_rows(const pfd_tensor *one, const pfd_tensor *two, int64_t n)
{
    output_marks marks = {.prefix = -1};
    int64_t bytes = one->row_bytes;
    for (int64_t row = 0; row < n; row++)
        mark_row(&marks, row, one->data + row * bytes, two->data + row * bytes, bytes);
    return marks;
}

static void type_words(const pfd_row_type *type, char *out, size_t size)
{
    int used = snprintf(out, size, "%s, shape (", pfd_dtype_name(type->dtype));
    for (int32_t i = 0; i < type->ndim && used < (int)size; i++)
        used += snprintf(out + used, size - (size_t)used, i ? ", %" PRId64 : "%" PRId64,
                         type->shape[i]);
    if (used < (int)size) snprintf(out + used, size - (size_t)used, ")");
}

/* Reports rows that all end early, or lie closer than infer() says. Returns 1 if it found such
 * rows. */
static int32_t report_infer(pfd_kit_call *call, const pfd_kit_attempt *a, uint32_t port,
                            const output_marks *marks)
{
    const pfd_tensor *out = &a->outputs[port];
    const char *name = a->node->op->op->outputs[port].name;
    int64_t bytes = out->row_bytes, whole = marks->prefix % bytes;
    char type[120];
    type_words(&out->type, type, sizeof type);
    if (a->n < 2) return 0;
    if (marks->rows_without == 0 && marks->end < bytes) {
        pfd_kit_report(call->run, "infer-differs",
                       "none of the %" PRId64 " rows of output '%s' had bytes beyond byte %" PRId64
                       " of %" PRId64 " written: infer() says %" PRId64
                       " bytes (%s); let it say the dtype and shape that compute() writes, or fill "
                       "up each row",
                       a->n, name, marks->end - 1, bytes, bytes, type);
        return 1;
    }
    if (marks->written == marks->prefix && whole > 0 && marks->prefix % a->n == 0) {
        pfd_kit_report(call->run, "infer-differs",
                       "compute() wrote the first %" PRId64 " of the %" PRId64
                       " bytes of output '%s', and no byte after: its %" PRId64
                       " rows seem to lie %" PRId64 " bytes apart, where infer() says %" PRId64
                       " (%s); let infer() say what compute() writes, and write row i at "
                       "data + i * row_bytes",
                       marks->prefix, a->n * bytes, name, a->n, marks->prefix / a->n, bytes, type);
        return 1;
    }
    return 0;
}

static void report_unwritten(pfd_kit_call *call, const pfd_kit_attempt *a, uint32_t port,
                             const output_marks *marks)
{
    const char *name = a->node->op->op->outputs[port].name;
    char words[PFD_KIT_ROW_WORDS];
    if (marks->rows_without == a->n && a->n > 1)
        pfd_kit_report(call->run, "row-unwritten",
                       "compute() wrote none of the %" PRId64
                       " rows of output '%s' and returned PFD_OK: what a batch before left there "
                       "is delivered; write every row of every output, or fail with "
                       "host->fail_row()",
                       a->n, name);
    else if (marks->rows_without)
        pfd_kit_report(call->run, "row-unwritten",
                       "compute() did not write row %" PRId64 " of output '%s' (%s) and returned "
                       "PFD_OK, the first of %" PRId64 " such rows of %" PRId64
                       ": what a batch before left there is delivered; write every row, or "
                       "fail with host->fail_row()",
                       marks->first_without, name,
                       pfd_kit_row_words(call, a, marks->first_without, words),
                       marks->rows_without, a->n);
    else
        pfd_kit_report(call->run, "bytes-unwritten",
                       "compute() wrote only a part of row %" PRId64 " of output '%s' (%s): "
                       "%" PRId64 " of its %" PRId64 " bytes, the first at %" PRId64
                       ", keep what was there before; write all of them, also where the record "
                       "is short (zeros, for example)",
                       marks->first_partly, name,
                       pfd_kit_row_words(call, a, marks->first_partly, words), marks->num_bytes,
                       a->outputs[port].row_bytes, marks->first_byte);
}

static void compare_dense(pfd_kit_call *call, const pfd_kit_attempt *a, const pfd_kit_attempt *b,
                          uint32_t port)
{
    const pfd_tensor *one = &a->outputs[port], *two = &b->outputs[port];
    int64_t bytes = one->row_bytes;
    if (bytes == 0 || !memcmp(one->data, two->data, (size_t)(a->n * bytes))) return;
    output_marks marks = mark_rows(one, two, a->n);
    if (marks.rows_without + marks.rows_partly > 0) {
        if (!report_infer(call, a, port, &marks)) report_unwritten(call, a, port, &marks);
        return;
    }
    for (int64_t row = 0; row < a->n; row++) {
        int64_t byte = first_different(one->type.dtype, one->data + row * bytes,
                                       two->data + row * bytes, bytes);
        char words[PFD_KIT_ROW_WORDS];
        if (byte < 0) continue;
        pfd_kit_report(call->run, "not-repeatable",
                       "two calls of compute() with equal records gave different bytes (output "
                       "'%s', row %" PRId64 ", %s, byte %" PRId64
                       "): what it writes must depend on record, attrs and random_key only, not on "
                       "time, addresses, threads, memory that it did not write, or calls before",
                       a->node->op->op->outputs[port].name, row,
                       pfd_kit_row_words(call, a, row, words), byte);
        return;
    }
}

/* ---- All outputs ----------------------------------------------------------------------------- */
static void compare_ragged(pfd_kit_call *call, const pfd_kit_attempt *a, const pfd_kit_attempt *b,
                           uint32_t port, int64_t row)
{
    pfd_kit_difference found;
    char words[PFD_KIT_ROW_WORDS];
    if (!outputs_differ(a, row, b, row, port, &found)) return;
    pfd_kit_report(call->run, "not-repeatable",
                   "two calls of compute() with equal records gave different rows (output '%s', "
                   "row %" PRId64 ", %s, %s): what it writes must depend on record, attrs and "
                   "random_key only",
                   a->node->op->op->outputs[port].name, row,
                   pfd_kit_row_words(call, a, row, words),
                   found.byte < 0 ? "of another size" : "of other bytes");
}

/* Reports bytes that neither of two equal calls wrote, and those that differ. */
static void compare_attempts(pfd_kit_call *call, const pfd_kit_attempt *first,
                             const pfd_kit_attempt *second)
{
    for (uint32_t port = 0; port < first->node->op->op->num_outputs; port++) {
        if (!first->outputs[port].is_ragged) {
            compare_dense(call, first, second, port);
            continue;
        }
        for (int64_t row = 0; row < first->n; row++) {
            /* Reads the rows, and reports those that are not sound. */
            uint64_t one = hash_row(call, first, row);
            if (one == hash_row(call, second, row)) continue;
            compare_ragged(call, first, second, port, row);
        }
    }
}

/* ---- The memory of a call -------------------------------------------------------------------- */
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

/* Makes a copy that cannot be written to. */
static const uint8_t *guarded_copy(pfd_kit_attempt *a, int32_t kind, int64_t index,
                                   const void *data, int64_t bytes, int64_t alignment)
{
    uint8_t *copy = guard(a, kind, index, bytes, alignment, 0);
    if (!copy) return NULL;
    if (bytes > 0) memcpy(copy, data, (size_t)bytes);
    pfd_guard_make_read_only(a->regions[a->num_regions - 1]);
    return copy;
}

/* Copies the records and their list, which cannot be written to either. */
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
    /* No op writes to the copy: only its pages are read-only. */
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
                           outside < 0 ? -outside : outside, outside < 0 ? "before" : "after",
                           a->n, a->node->op->op->outputs[i].name);
    }
}

/* Checks the byte at which compute() says that a record is damaged. */
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
            compare_attempts(call, first, &again);
        else if (!call->run->injected)
            pfd_kit_report(call->run, "not-repeatable",
                           "compute() failed when it was called a second time with equal records: "
                           "%.300s",
                           err->message);
    }
    pfd_kit_attempt_close(call, &again);
    return status;
}

/* Does what pfd_kit_compute() says, with these tensors of the inputs. */
static pfd_status compute_with(pfd_kit_call *call, const pfd_tensor *const *inputs,
                               const pfd_record *records, int64_t n, uint64_t *hashes,
                               pfd_error *err)
{
    const pfd_kit_options *options = call->run->options;
    pfd_kit_attempt first = {.node = call->run->node, .n = n};
    pfd_status status = PFD_OK;
    if (!pfd_kit_attempt_open(call, &first, records, inputs))
        status = pfd_fail_memory(err, n, "guarded memory");
    if (status == PFD_OK) status = pfd_kit_attempt_run(call, &first, err);
    /* A row that was not written is reported as such, also where samples are damaged. */
    if (status == PFD_OK && (options->twice || pfd_kit_looks_unwritten(&first)))
        status = pfd_kit_attempt_repeat(call, &first, records, inputs, err);
    for (int64_t i = 0; status == PFD_OK && i < n; i++)
        hashes[i] = hash_row(call, &first, i);
    if (status == PFD_OK) check_equal_rows(call, &first);
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
    if (status == PFD_OK) status = compute_with(call, inputs, records, n, hashes, err);
    pfd_scratch_free(plain);
    free(inputs);
    return status;
}
