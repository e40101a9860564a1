/* The rows of a batch that on_error leaves out: noted, taken out of the slot, put back as padding.
 */
#include "loader/slot.h"

#include <stdlib.h>
#include <string.h>

int32_t pfd_slot_add_bad_row(pfd_slot *slot, const pfd_bad_row *bad)
{
    if (slot->num_bad_rows == slot->bad_rows_capacity) {
        int64_t capacity = slot->bad_rows_capacity ? 2 * slot->bad_rows_capacity : 4;
        pfd_bad_row *grown = realloc(slot->bad_rows, (size_t)capacity * sizeof *grown);
        if (!grown) return 0;
        slot->bad_rows = grown;
        slot->bad_rows_capacity = capacity;
    }
    pfd_bad_row *added = &slot->bad_rows[slot->num_bad_rows];
    *added = *bad;
    added->error = NULL;
    if (slot->num_bad_rows < PFD_MOST_BAD_ROW_ERRORS) {
        added->error = malloc(sizeof *added->error);
        if (!added->error) return 0;
        *added->error = *bad->error;
    }
    slot->num_bad_rows++;
    return 1;
}

void pfd_slot_clear_bad_rows(pfd_slot *slot)
{
    for (int64_t i = 0; i < slot->num_bad_rows; i++) {
        free(slot->bad_rows[i].error);
        free(slot->bad_rows[i].ids);
    }
    free(slot->bad_rows);
    slot->bad_rows = NULL;
    slot->num_bad_rows = slot->bad_rows_capacity = slot->num_removed = 0;
}

static int by_row(const void *a, const void *b)
{
    int64_t left = ((const pfd_bad_row *)a)->row, right = ((const pfd_bad_row *)b)->row;
    return (left > right) - (left < right);
}

/* Whether the row is in the blobs already, as padding. */
static int32_t stays(const pfd_bad_row *bad)
{
    return bad->pad && !bad->ids;
}

/* Of an array with an item for each row. */
static void remove_rows(const pfd_slot *slot, void *items, int64_t item_bytes)
{
    uint8_t *base = items;
    int64_t kept = 0, from = 0;
    for (int64_t i = slot->num_removed; i <= slot->num_bad_rows; i++) {
        if (i < slot->num_bad_rows && stays(&slot->bad_rows[i])) continue;
        int64_t to = i < slot->num_bad_rows ? slot->bad_rows[i].place : slot->rows;
        memmove(base + kept * item_bytes, base + from * item_bytes,
                (size_t)((to - from) * item_bytes));
        kept += to - from;
        from = to + 1;
    }
}

void pfd_slot_remove_bad_rows(const pfd_plan *plan, pfd_slot *slot)
{
    int64_t num_new = slot->num_bad_rows - slot->num_removed, removed = 0;
    if (!num_new) return;
    qsort(slot->bad_rows + slot->num_removed, (size_t)num_new, sizeof *slot->bad_rows, by_row);
    for (int64_t i = slot->num_removed; i < slot->num_bad_rows; i++)
        removed += !stays(&slot->bad_rows[i]);
    if (removed) {
        for (int32_t i = 0; i < plan->num_tensors; i++) {
            const pfd_plan_tensor *tensor = &plan->tensors[i];
            if (tensor->in_slot)
                remove_rows(slot, slot->memory + tensor->offset, tensor->row_bytes);
        }
        if (plan->num_stages > 1) {
            for (int32_t r = 0; r < plan->num_readers; r++)
                remove_rows(slot, slot->records[r], sizeof(pfd_record));
            remove_rows(slot, slot->begun_rows, sizeof *slot->begun_rows);
        }
        slot->rows -= removed;
    }
    slot->num_removed = slot->num_bad_rows;
}

/* ---- Padding --------------------------------------------------------------------------------- */

/* Opens a gap of zeros in a tensor for each padded row; from the end, since rows move up. */
static void insert_rows(pfd_slot *slot, const pfd_plan_tensor *tensor, int64_t rows)
{
    uint8_t *base = slot->memory + tensor->offset;
    int64_t bytes = tensor->row_bytes, to = rows, from = slot->rows, skipped = 0;
    for (int64_t i = 0; i < slot->num_bad_rows; i++) skipped += !slot->bad_rows[i].pad;
    for (int64_t i = slot->num_bad_rows - 1; i >= 0; i--) {
        const pfd_bad_row *bad = &slot->bad_rows[i];
        if (!bad->pad) {
            skipped--;
            continue;
        }
        int64_t gap = bad->row - skipped, behind = to - gap - 1;
        memmove(base + (gap + 1) * bytes, base + (from - behind) * bytes, (size_t)(behind * bytes));
        memset(base + gap * bytes, 0, (size_t)bytes);
        to = gap;
        from -= behind;
    }
}

static void fill_in_ids(const pfd_plan *plan, pfd_slot *slot, const pfd_plan_op *op)
{
    const pfd_op *described = op->node->op->op;
    if (!pfd_op_is_reader(described)) return;
    const pfd_plan_tensor *id =
        &plan->tensors[op->first_output + (int32_t)described->num_outputs + 1];
    int64_t skipped = 0;
    for (int64_t i = 0; id->in_slot && i < slot->num_bad_rows; i++) {
        const pfd_bad_row *bad = &slot->bad_rows[i];
        skipped += !bad->pad;
        if (bad->pad)
            memcpy(slot->memory + id->offset + (bad->row - skipped) * id->row_bytes,
                   bad->ids + 2 * op->reader, 2 * sizeof *bad->ids);
    }
}

void pfd_slot_insert_padded_rows(const pfd_plan *plan, pfd_slot *slot)
{
    if (plan->num_stages == 1 || !slot->num_bad_rows) return;
    qsort(slot->bad_rows, (size_t)slot->num_bad_rows, sizeof *slot->bad_rows, by_row);
    int64_t rows = slot->rows;
    for (int64_t i = 0; i < slot->num_bad_rows; i++) rows += slot->bad_rows[i].pad;
    if (rows == slot->rows) return;
    for (int32_t i = 0; i < plan->num_tensors; i++)
        if (plan->tensors[i].is_wanted) insert_rows(slot, &plan->tensors[i], rows);
    for (int32_t i = 0; i < plan->num_ops; i++) fill_in_ids(plan, slot, &plan->ops[i]);
    slot->rows = rows;
}
