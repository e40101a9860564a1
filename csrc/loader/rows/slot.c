/* Allocates slots, and the arenas that keep bytes while a batch is made. */
#include "loader/rows/slot.h"

#include "core/error.h"

#include <stdlib.h>
#include <string.h>

void pfd_slot_free(pfd_slot *slot)
{
    if (!slot) return;
    if (slot->records) free(slot->records[0]);
    free(slot->records);
    free(slot->first_positions);
    pfd_slot_clear_skipped_rows(slot);
    free(slot->row_numbers);
    free(slot->values);
    pfd_arenas_free(slot->arenas);
    for (int32_t i = 0; slot->more_loops && i < slot->num_more_loops; i++)
        free(slot->more_loops[i].error);
    free(slot->more_loops);
    free(slot->loop.error);
    pfd_scratch_free(slot->scratch);
    free(slot);
}

static int32_t allocate_records(const pfd_plan *plan, pfd_slot *slot)
{
    slot->records = calloc((size_t)plan->num_record_arrays, sizeof *slot->records);
    if (!slot->records) return 0;
    size_t rows = (size_t)plan->local_batch_size;
    pfd_record *block = calloc((size_t)plan->num_record_arrays * rows, sizeof *block);
    if (!block) return 0;
    for (int32_t i = 0; i < plan->num_record_arrays; i++)
        slot->records[i] = block + (size_t)i * rows;
    return 1;
}

/* Counts the loops after the first one: one for each further stage, and one that joins ragged
 * rows. */
static int32_t num_more_loops(const pfd_plan *plan)
{
    return plan->num_stages - 1 + (plan->num_ragged > 0);
}

static int32_t allocate_parts(const pfd_plan *plan, pfd_slot *slot)
{
    slot->first_positions = calloc((size_t)plan->num_readers, sizeof *slot->first_positions);
    if (!slot->first_positions) return 0;
    if (plan->stream && !(slot->scratch = pfd_scratch_create())) return 0;
    if (slot->scratch) pfd_scratch_set_bounds(slot->scratch, plan->bounds);
    int32_t has_stages = plan->num_stages > 1;
    if ((plan->stream || has_stages) && !allocate_records(plan, slot)) return 0;
    if (has_stages) {
        slot->row_numbers = calloc((size_t)plan->local_batch_size, sizeof *slot->row_numbers);
        if (!slot->row_numbers) return 0;
    }
    slot->num_more_loops = num_more_loops(plan);
    if (!slot->num_more_loops) return 1;
    slot->more_loops = calloc((size_t)slot->num_more_loops, sizeof *slot->more_loops);
    return slot->more_loops != NULL;
}

enum { HEAD_BYTES = (sizeof(pfd_slot) + 63) / 64 * 64 };

int64_t pfd_slot_cost(const pfd_plan *plan)
{
    int32_t has_stages = plan->num_stages > 1, number = sizeof(int64_t);
    int64_t row = 0;
    if (plan->stream || has_stages) row += plan->num_record_arrays * (int64_t)sizeof(pfd_record);
    if (has_stages) row += number;
    return HEAD_BYTES + plan->slot_bytes + plan->num_readers * number +
           plan->local_batch_size * row + num_more_loops(plan) * (int64_t)sizeof(pfd_loop);
}

pfd_slot *pfd_slot_create(const pfd_plan *plan)
{
    pfd_slot *slot = aligned_alloc(64, HEAD_BYTES + (size_t)plan->slot_bytes);
    if (!slot) return NULL;
    *slot = (pfd_slot){.memory = (uint8_t *)slot + HEAD_BYTES};
    if (!allocate_parts(plan, slot)) {
        pfd_slot_free(slot);
        return NULL;
    }
    return slot;
}

pfd_slot *pfd_slot_of(void *memory)
{
    return (pfd_slot *)(void *)((uint8_t *)memory - HEAD_BYTES);
}

/* ---- Arenas ---------------------------------------------------------------------------------- */

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

int32_t pfd_slot_loop_can_pass(const pfd_loop *loop)
{
    return loop->error ? pfd_error_can_pass(loop->status, loop->error)
                       : loop->status == PFD_CORRUPT_DATA;
}
