/* Compares two equal calls of compute() over memory with different fill: what keeps both fills was
 * not written, and what differs otherwise depends on more than it may. */
#include "check/attempt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    int64_t rows_without, first_without; /* rows of which no byte was written */
    int64_t rows_partly, first_partly;
    int64_t first_byte, num_bytes; /* of that row, not written */
    int64_t end;                   /* no row has a written byte from here on */
    int64_t prefix;                /* bytes of all rows up to the first one not written */
    int64_t written;               /* bytes of all rows */
} output_marks;

static int32_t is_unwritten(uint8_t one, uint8_t two)
{
    return one == PFD_KIT_FILL_1 && two == PFD_KIT_FILL_2;
}

static void mark_row(output_marks *marks, int64_t row, const uint8_t *one, const uint8_t *two,
                     int64_t bytes)
{
    int64_t first = -1, count = 0, end = 0;
    for (int64_t i = 0; i < bytes; i++) {
        if (!is_unwritten(one[i], two[i])) {
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

/* Rows that end early everywhere, or lie closer than infer() says.  1: that is what was found. */
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
                       pfd_kit_row_words(call, a, marks->first_without, words), marks->rows_without,
                       a->n);
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
        int64_t byte = pfd_kit_first_different(one->type.dtype, one->data + row * bytes,
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
    if (!pfd_kit_outputs_differ(a, row, b, row, port, &found)) return;
    pfd_kit_report(call->run, "not-repeatable",
                   "two calls of compute() with equal records gave different rows (output '%s', "
                   "row %" PRId64 ", %s, %s): what it writes must depend on record, attrs and "
                   "random_key only",
                   a->node->op->op->outputs[port].name, row, pfd_kit_row_words(call, a, row, words),
                   found.byte < 0 ? "of another size" : "of other bytes");
}

void pfd_kit_compare_attempts(pfd_kit_call *call, const pfd_kit_attempt *first,
                              const pfd_kit_attempt *second)
{
    for (uint32_t port = 0; port < first->node->op->op->num_outputs; port++) {
        if (!first->outputs[port].is_ragged) {
            compare_dense(call, first, second, port);
            continue;
        }
        for (int64_t row = 0; row < first->n; row++) {
            /* Reads the rows, and reports those that are not sound. */
            uint64_t one = pfd_kit_hash_row(call, first, row);
            if (one == pfd_kit_hash_row(call, second, row)) continue;
            compare_ragged(call, first, second, port, row);
        }
    }
}
