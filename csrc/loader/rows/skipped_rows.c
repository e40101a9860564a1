/* Lists the damaged rows of a batch, removes them, and puts padded ones back. */
#include "loader/rows/slot.h"

#include <stdlib.h>
#include <string.h>

int32_t pfd_slot_add_skipped_row(pfd_slot *slot, const pfd_skipped_row *skipped)
{
    if (slot->num_skipped_rows == slot->skipped_capacity) {
        int64_t capacity = slot->skipped_capacity ? 2 * slot->skipped_capacity : 4;
        pfd_skipped_row *grown = realloc(slot->skipped_rows, (size_t)capacity * sizeof *grown);
        if (!grown) return 0;
        slot->skipped_rows = grown;
        slot->skipped_capacity = capacity;
    }
    pfd_skipped_row *added = &slot->skipped_rows[slot->num_skipped_rows];
    *added = *skipped;
    added->error = NULL;
    if (slot->num_skipped_rows < PFD_MOST_SKIPPED_ERRORS) {
        added->error = malloc(sizeof *added->error);
        if (!added->error) return 0;
        *added->error = *skipped->error;
    }
    slot->num_skipped_rows++;
    return 1;
}

void pfd_slot_clear_skipped_rows(pfd_slot *slot)
{
    for (int64_t i = 0; i < slot->num_skipped_rows; i++) {
        free(slot->skipped_rows[i].error);
        free(slot->skipped_rows[i].ids);
    }
    free(slot->skipped_rows);
    slot->skipped_rows = NULL;
    slot->num_skipped_rows = slot->skipped_capacity = slot->num_settled = 0;
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
static void remove_rows(const pfd_slot *slot, void *items, int64_t item_bytes)
{
    uint8_t *base = items;
    int64_t kept = 0, from = 0;
    for (int64_t i = slot->num_settled; i <= slot->num_skipped_rows; i++) {
        if (i < slot->num_skipped_rows && stays(&slot->skipped_rows[i])) continue;
        int64_t to = i < slot->num_skipped_rows ? slot->skipped_rows[i].place : slot->rows;
        memmove(base + kept * item_bytes, base + from * item_bytes,
                (size_t)((to - from) * item_bytes));
        kept += to - from;
        from = to + 1;
    }
}

void pfd_slot_remove_skipped_rows(const pfd_plan *plan, pfd_slot *slot)
{
    int64_t num_new = slot->num_skipped_rows - slot->num_settled, removed = 0;
    if (!num_new) return;
    qsort(slot->skipped_rows + slot->num_settled, (size_t)num_new, sizeof *slot->skipped_rows,
          by_row);
    for (int64_t i = slot->num_settled; i < slot->num_skipped_rows; i++)
        removed += !stays(&slot->skipped_rows[i]);
    if (removed) {
        for (int32_t i = 0; i < plan->num_tensors; i++) {
            const pfd_plan_tensor *tensor = &plan->tensors[i];
            if (tensor->in_slot)
                remove_rows(slot, slot->memory + tensor->offset, tensor->row_bytes);
        }
        if (plan->num_stages > 1) {
            for (int32_t r = 0; r < plan->num_record_arrays; r++)
                remove_rows(slot, slot->records[r], sizeof(pfd_record));
            remove_rows(slot, slot->row_numbers, sizeof *slot->row_numbers);
        }
        slot->rows -= removed;
    }
    slot->num_settled = slot->num_skipped_rows;
}

/* ---- Padding --------------------------------------------------------------------------------- */

/* Opens a gap of zeros in a tensor for each padded row. It starts at the end, because rows move up.
 * `gone`: the rows before this one that are not put back. */
static void insert_rows(pfd_slot *slot, const pfd_plan_tensor *tensor, int64_t rows)
{
    uint8_t *base = slot->memory + tensor->offset;
    int64_t bytes = tensor->row_bytes, to = rows, from = slot->rows, gone = 0;
    for (int64_t i = 0; i < slot->num_skipped_rows; i++) gone += !slot->skipped_rows[i].pad;
    for (int64_t i = slot->num_skipped_rows - 1; i >= 0; i--) {
        const pfd_skipped_row *skipped = &slot->skipped_rows[i];
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

static void fill_in_ids(const pfd_plan *plan, pfd_slot *slot, const pfd_plan_op *op)
{
    const pfd_op *described = op->node->op->op;
    if (!pfd_op_is_reader(described)) return;
    const pfd_plan_tensor *id =
        &plan->tensors[op->first_output + (int32_t)described->num_outputs + 1];
    int64_t gone = 0;
    for (int64_t i = 0; id->in_slot && i < slot->num_skipped_rows; i++) {
        const pfd_skipped_row *skipped = &slot->skipped_rows[i];
        gone += !skipped->pad;
        if (skipped->pad)
            memcpy(slot->memory + id->offset + (skipped->row - gone) * id->row_bytes,
                   skipped->ids + 2 * op->reader, 2 * sizeof *skipped->ids);
    }
}

void pfd_slot_insert_padded_rows(const pfd_plan *plan, pfd_slot *slot)
{
    if (plan->num_stages == 1 || !slot->num_skipped_rows) return;
    qsort(slot->skipped_rows, (size_t)slot->num_skipped_rows, sizeof *slot->skipped_rows, by_row);
    int64_t rows = slot->rows;
    for (int64_t i = 0; i < slot->num_skipped_rows; i++) rows += slot->skipped_rows[i].pad;
    if (rows == slot->rows) return;
    for (int32_t i = 0; i < plan->num_tensors; i++)
        if (plan->tensors[i].is_wanted) insert_rows(slot, &plan->tensors[i], rows);
    for (int32_t i = 0; i < plan->num_ops; i++) fill_in_ids(plan, slot, &plan->ops[i]);
    slot->rows = rows;
}
