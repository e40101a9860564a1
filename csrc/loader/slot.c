/* Allocating slots, and taking rows out of a finished one. */
#include "loader/slot.h"

#include <stdlib.h>
#include <string.h>

void pfd_slot_free(pfd_slot *slot)
{
    if (!slot) return;
    if (slot->records) free(slot->records[0]);
    free(slot->records);
    free(slot->first_positions);
    pfd_slot_clear_bad_rows(slot);
    free(slot->loop.error);
    pfd_scratch_free(slot->scratch);
    free(slot);
}

static int32_t allocate_stream_parts(const pfd_plan *plan, pfd_slot *slot)
{
    slot->scratch = pfd_scratch_create();
    slot->records = calloc((size_t)plan->num_readers, sizeof *slot->records);
    if (!slot->scratch || !slot->records) return 0;
    size_t rows = (size_t)plan->local_batch_size;
    pfd_record *block = calloc((size_t)plan->num_readers * rows, sizeof *block);
    if (!block) return 0;
    for (int32_t i = 0; i < plan->num_readers; i++) slot->records[i] = block + (size_t)i * rows;
    return 1;
}

enum { HEAD_BYTES = (sizeof(pfd_slot) + 63) / 64 * 64 };

int64_t pfd_slot_cost(const pfd_plan *plan)
{
    int64_t records = plan->stream ? plan->local_batch_size * (int64_t)sizeof(pfd_record) : 0;
    return HEAD_BYTES + plan->slot_bytes + plan->num_readers * (records + (int64_t)sizeof(int64_t));
}

pfd_slot *pfd_slot_create(const pfd_plan *plan)
{
    pfd_slot *slot = aligned_alloc(64, HEAD_BYTES + (size_t)plan->slot_bytes);
    if (!slot) return NULL;
    *slot = (pfd_slot){.memory = (uint8_t *)slot + HEAD_BYTES};
    slot->first_positions = calloc((size_t)plan->num_readers, sizeof *slot->first_positions);
    if (!slot->first_positions || (plan->stream && !allocate_stream_parts(plan, slot))) {
        pfd_slot_free(slot);
        return NULL;
    }
    return slot;
}

pfd_slot *pfd_slot_of(void *memory)
{
    return (pfd_slot *)(void *)((uint8_t *)memory - HEAD_BYTES);
}

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
    for (int64_t i = 0; i < slot->num_bad_rows; i++) free(slot->bad_rows[i].error);
    free(slot->bad_rows);
    slot->bad_rows = NULL;
    slot->num_bad_rows = slot->bad_rows_capacity = 0;
}

static int by_row(const void *a, const void *b)
{
    int64_t left = ((const pfd_bad_row *)a)->row, right = ((const pfd_bad_row *)b)->row;
    return (left > right) - (left < right);
}

static void remove_rows(pfd_slot *slot, const pfd_plan_tensor *tensor)
{
    uint8_t *base = slot->memory + tensor->offset;
    int64_t kept = 0, from = 0;
    for (int64_t i = 0; i <= slot->num_bad_rows; i++) {
        if (i < slot->num_bad_rows && slot->bad_rows[i].pad) continue;
        int64_t to = i < slot->num_bad_rows ? slot->bad_rows[i].row : slot->rows;
        memmove(base + kept * tensor->row_bytes, base + from * tensor->row_bytes,
                (size_t)((to - from) * tensor->row_bytes));
        kept += to - from;
        from = to + 1;
    }
}

void pfd_slot_remove_bad_rows(const pfd_plan *plan, pfd_slot *slot)
{
    if (!slot->num_bad_rows) return;
    qsort(slot->bad_rows, (size_t)slot->num_bad_rows, sizeof *slot->bad_rows, by_row);
    int64_t removed = 0;
    for (int64_t i = 0; i < slot->num_bad_rows; i++) removed += !slot->bad_rows[i].pad;
    if (!removed) return;
    for (int32_t i = 0; i < plan->num_tensors; i++)
        if (plan->tensors[i].in_slot) remove_rows(slot, &plan->tensors[i]);
    slot->rows -= removed;
}
