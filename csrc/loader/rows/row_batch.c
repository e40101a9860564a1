/* Allocates what the rows of a batch need, and keeps the list of those that are skipped. */
#include "loader/rows/row_batch.h"

#include <stdlib.h>
#include <string.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

static int32_t allocate_records(const pfd_plan *plan, pfd_row_batch *batch)
{
    batch->records = calloc((size_t)plan->num_record_arrays, sizeof *batch->records);
    if (!batch->records) return 0;
    size_t rows = (size_t)plan->local_batch_size;
    pfd_record *block = calloc((size_t)plan->num_record_arrays * rows, sizeof *block);
    if (!block) return 0;
    for (int32_t i = 0; i < plan->num_record_arrays; i++)
        batch->records[i] = block + (size_t)i * rows;
    return 1;
}

/* Whether records are kept for the whole batch. */
static int32_t keeps_records(const pfd_plan *plan)
{
    return plan->stream || plan->num_stages > 1;
}

int32_t pfd_row_batch_open(const pfd_plan *plan, pfd_row_batch *batch)
{
    batch->first_positions = calloc((size_t)plan->num_readers, sizeof *batch->first_positions);
    if (!batch->first_positions) return 0;
    batch->files = calloc((size_t)plan->num_file_words + 1, sizeof *batch->files);
    if (!batch->files) return 0;
    if (keeps_records(plan) && !allocate_records(plan, batch)) return 0;
    if (plan->num_stages == 1) return 1;
    batch->row_numbers = calloc((size_t)plan->local_batch_size, sizeof *batch->row_numbers);
    return batch->row_numbers != NULL;
}

void pfd_row_batch_close(pfd_row_batch *batch)
{
    if (batch->records) free(batch->records[0]);
    free(batch->records);
    free(batch->first_positions);
    free(batch->files);
    pfd_skipped_rows_clear(batch);
    free(batch->row_numbers);
    free(batch->values);
    pfd_arenas_free(batch->arenas);
}

int64_t pfd_row_batch_cost(const pfd_plan *plan)
{
    int32_t number = sizeof(int64_t);
    int64_t row = 0;
    if (keeps_records(plan)) row += plan->num_record_arrays * (int64_t)sizeof(pfd_record);
    if (plan->num_stages > 1) row += number;
    return (plan->num_readers + plan->num_file_words) * number + plan->local_batch_size * row;
}

pfd_arenas *pfd_arenas_create(const pfd_plan *plan)
{
    size_t num_ranges = (size_t)plan->num_chunks;
    pfd_arenas *arenas = calloc(1, sizeof *arenas + num_ranges * sizeof *arenas->ranges);
    if (!arenas) return NULL;
    arenas->num_ranges = plan->num_chunks;
    for (size_t i = 0; i < num_ranges; i++) {
        arenas->ranges[i] = pfd_scratch_create();
        if (!arenas->ranges[i]) {
            pfd_arenas_free(arenas);
            return NULL;
        }
        pfd_scratch_set_bounds(arenas->ranges[i], plan->bounds);
    }
    return arenas;
}

void pfd_arenas_free(pfd_arenas *arenas)
{
    if (!arenas) return;
    for (int64_t i = 0; i < arenas->num_ranges; i++) pfd_scratch_free(arenas->ranges[i]);
    free(arenas);
}

void pfd_arenas_reset(pfd_arenas *arenas)
{
    for (int64_t i = 0; i < arenas->num_ranges; i++) pfd_scratch_reset(arenas->ranges[i]);
}

int64_t pfd_arenas_bytes(const pfd_arenas *arenas)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < arenas->num_ranges; i++) bytes += pfd_scratch_bytes(arenas->ranges[i]);
    return bytes;
}

/* ---- Skipped rows ---------------------------------------------------------------------------- */

int32_t pfd_skipped_rows_add(pfd_row_batch *batch, const pfd_skipped_row *skipped)
{
    if (batch->num_skipped_rows == batch->skipped_capacity) {
        int64_t capacity = batch->skipped_capacity ? 2 * batch->skipped_capacity : 4;
        pfd_skipped_row *grown = realloc(batch->skipped_rows, (size_t)capacity * sizeof *grown);
        if (!grown) return 0;
        batch->skipped_rows = grown;
        batch->skipped_capacity = capacity;
    }
    pfd_skipped_row *added = &batch->skipped_rows[batch->num_skipped_rows];
    *added = *skipped;
    added->error = NULL;
    if (batch->num_skipped_rows < PFD_MOST_SKIPPED_ERRORS) {
        added->error = malloc(sizeof *added->error);
        if (!added->error) return 0;
        *added->error = *skipped->error;
    }
    batch->num_skipped_rows++;
    return 1;
}

void pfd_skipped_rows_clear(pfd_row_batch *batch)
{
    for (int64_t i = 0; i < batch->num_skipped_rows; i++) {
        free(batch->skipped_rows[i].error);
        free(batch->skipped_rows[i].ids);
    }
    free(batch->skipped_rows);
    batch->skipped_rows = NULL;
    batch->num_skipped_rows = batch->skipped_capacity = batch->num_settled = 0;
}

static int by_row(const void *a, const void *b)
{
    int64_t left = ((const pfd_skipped_row *)a)->row, right = ((const pfd_skipped_row *)b)->row;
    return (left > right) - (left < right);
}

/* Whether the row stays in the blobs, as padding. */
static int32_t stays(const pfd_skipped_row *skipped)
{
    return skipped->pad && !skipped->ids;
}

/* Removes the skipped rows from an array with an item for each row. */
static void remove_rows(const pfd_row_batch *batch, void *items, int64_t item_bytes)
{
    uint8_t *base = items;
    int64_t kept = 0, from = 0;
    for (int64_t i = batch->num_settled; i <= batch->num_skipped_rows; i++) {
        if (i < batch->num_skipped_rows && stays(&batch->skipped_rows[i])) continue;
        int64_t to = i < batch->num_skipped_rows ? batch->skipped_rows[i].place : batch->rows;
        memmove(base + kept * item_bytes, base + from * item_bytes,
                (size_t)((to - from) * item_bytes));
        kept += to - from;
        from = to + 1;
    }
}

void pfd_skipped_rows_remove(const pfd_plan *plan, pfd_row_batch *batch)
{
    int64_t num_new = batch->num_skipped_rows - batch->num_settled, removed = 0;
    if (!num_new) return;
    qsort(batch->skipped_rows + batch->num_settled, (size_t)num_new, sizeof *batch->skipped_rows,
          by_row);
    for (int64_t i = batch->num_settled; i < batch->num_skipped_rows; i++)
        removed += !stays(&batch->skipped_rows[i]);
    if (removed) {
        for (int32_t i = 0; i < plan->num_tensors; i++) {
            const pfd_plan_tensor *tensor = &plan->tensors[i];
            if (tensor->in_slot)
                remove_rows(batch, batch->memory + tensor->offset, tensor->row_bytes);
        }
        if (plan->num_stages > 1) {
            for (int32_t r = 0; r < plan->num_record_arrays; r++)
                remove_rows(batch, batch->records[r], sizeof(pfd_record));
            remove_rows(batch, batch->row_numbers, sizeof *batch->row_numbers);
        }
        batch->rows -= removed;
    }
    batch->num_settled = batch->num_skipped_rows;
}

/* ---- Padding --------------------------------------------------------------------------------- */

/* Opens a gap of zeros in a tensor for each padded row. It starts at the end, because rows move up.
 * `gone`: the rows before this one that are not put back. */
static void insert_rows(pfd_row_batch *batch, const pfd_plan_tensor *tensor, int64_t rows)
{
    uint8_t *base = batch->memory + tensor->offset;
    int64_t bytes = tensor->row_bytes, to = rows, from = batch->rows, gone = 0;
    for (int64_t i = 0; i < batch->num_skipped_rows; i++) gone += !batch->skipped_rows[i].pad;
    for (int64_t i = batch->num_skipped_rows - 1; i >= 0; i--) {
        const pfd_skipped_row *skipped = &batch->skipped_rows[i];
        if (!skipped->pad) {
            gone--;
            continue;
        }
        int64_t gap = skipped->row - gone, after = to - gap - 1;
        memmove(base + (gap + 1) * bytes, base + (from - after) * bytes, (size_t)(after * bytes));
        memset(base + gap * bytes, 0, (size_t)bytes);
        to = gap;
        from -= after;
    }
}

static void fill_in_ids(const pfd_plan *plan, pfd_row_batch *batch, const pfd_plan_op *op)
{
    const pfd_op *described = op->node->op->op;
    if (!pfd_op_is_reader(described)) return;
    const pfd_plan_tensor *id =
        &plan->tensors[op->first_output + (int32_t)described->num_outputs + 1];
    int64_t gone = 0;
    for (int64_t i = 0; id->in_slot && i < batch->num_skipped_rows; i++) {
        const pfd_skipped_row *skipped = &batch->skipped_rows[i];
        gone += !skipped->pad;
        if (skipped->pad)
            memcpy(batch->memory + id->offset + (skipped->row - gone) * id->row_bytes,
                   skipped->ids + 2 * op->reader, 2 * sizeof *skipped->ids);
    }
}

void pfd_skipped_rows_put_back(const pfd_plan *plan, pfd_row_batch *batch)
{
    if (plan->num_stages == 1 || !batch->num_skipped_rows) return;
    qsort(batch->skipped_rows, (size_t)batch->num_skipped_rows, sizeof *batch->skipped_rows,
          by_row);
    int64_t rows = batch->rows;
    for (int64_t i = 0; i < batch->num_skipped_rows; i++) rows += batch->skipped_rows[i].pad;
    if (rows == batch->rows) return;
    for (int32_t i = 0; i < plan->num_tensors; i++)
        if (plan->tensors[i].is_wanted) insert_rows(batch, &plan->tensors[i], rows);
    for (int32_t i = 0; i < plan->num_ops; i++) fill_in_ids(plan, batch, &plan->ops[i]);
    batch->rows = rows;
}
