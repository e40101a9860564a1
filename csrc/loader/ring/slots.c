/* Which slots a loader has: as many as the ring and a user who holds one batch or two need, and
 * more while more are held, within memory_budget; and the memory of their ragged rows. */
#include "loader/ring/slots.h"

#include <stdlib.h>

/* ---- One slot -------------------------------------------------------------------------------- */

/* Counts the loops after the first one: one for each further stage, and one that joins ragged
 * rows. */
static int32_t num_more_loops(const pfd_plan *plan)
{
    return plan->num_stages - 1 + (plan->num_ragged > 0);
}

static void free_memory(pfd_slot *slot)
{
    pfd_row_batch_close(&slot->batch);
    for (int32_t i = 0; slot->more_loops && i < slot->num_more_loops; i++)
        free(slot->more_loops[i].error);
    free(slot->more_loops);
    free(slot->loop.error);
    pfd_scratch_free(slot->scratch);
    free(slot);
}

static int32_t allocate_parts(const pfd_plan *plan, pfd_slot *slot)
{
    if (!pfd_row_batch_open(plan, &slot->batch)) return 0;
    if (plan->stream && !(slot->scratch = pfd_scratch_create())) return 0;
    if (slot->scratch) pfd_scratch_set_bounds(slot->scratch, plan->bounds);
    slot->num_more_loops = num_more_loops(plan);
    if (!slot->num_more_loops) return 1;
    slot->more_loops = calloc((size_t)slot->num_more_loops, sizeof *slot->more_loops);
    return slot->more_loops != NULL;
}

enum { HEAD_BYTES = (sizeof(pfd_slot) + 63) / 64 * 64 };

int64_t pfd_slot_cost(const pfd_plan *plan)
{
    return HEAD_BYTES + plan->slot_bytes + pfd_row_batch_cost(plan) +
           num_more_loops(plan) * (int64_t)sizeof(pfd_loop);
}

/* NULL: out of memory. */
static pfd_slot *create_slot(const pfd_plan *plan)
{
    pfd_slot *slot = aligned_alloc(64, HEAD_BYTES + (size_t)plan->slot_bytes);
    if (!slot) return NULL;
    *slot = (pfd_slot){.batch.memory = (uint8_t *)slot + HEAD_BYTES};
    if (allocate_parts(plan, slot)) return slot;
    free_memory(slot);
    return NULL;
}

pfd_slot *pfd_slot_of(void *memory)
{
    return (pfd_slot *)(void *)((uint8_t *)memory - HEAD_BYTES);
}

/* ---- Which slots there are ------------------------------------------------------------------- */

int32_t pfd_slot_pool_grow(pfd_loader *l)
{
    pfd_slot *slot = create_slot(&l->plan);
    if (!slot) return 0;
    slot->loader = l;
    slot->number = l->slots_made++;
    slot->next_free = l->free_slots;
    l->free_slots = slot;
    l->num_slots++;
    return 1;
}

/* Whether the slots that there are may take `more` bytes than now. */
static int32_t fits(const pfd_loader *l, int64_t more)
{
    int64_t used = l->stream_bytes + l->ragged_bytes + more;
    return used <= l->memory_budget &&
           l->num_slots <= (l->memory_budget - used) / pfd_slot_cost(&l->plan);
}

/* Assumes that a further slot has as many values as the largest batch so far. */
int32_t pfd_slot_pool_has_budget(const pfd_loader *l)
{
    int64_t values = l->most_values > 0 ? l->most_values : 0;
    int64_t left = l->memory_budget - l->stream_bytes - l->ragged_bytes - values;
    return left > 0 && l->num_slots < left / pfd_slot_cost(&l->plan);
}

/* ---- Values of ragged blobs ------------------------------------------------------------------ */

static void count_values(pfd_loader *l, pfd_slot *slot, int64_t bytes)
{
    l->ragged_bytes += bytes - slot->values_counted;
    slot->values_counted = bytes;
}

void pfd_slot_pool_count_values(pfd_loader *l, pfd_slot *slot, int64_t used_bytes)
{
    if (used_bytes > l->most_values) l->most_values = used_bytes;
    count_values(l, slot, slot->batch.values_capacity);
}

static void drop_values(pfd_loader *l, pfd_slot *slot)
{
    free(slot->batch.values);
    slot->batch.values = NULL;
    slot->batch.values_capacity = 0;
    count_values(l, slot, 0);
}

static void free_arenas(pfd_loader *l, pfd_arenas *arenas)
{
    if (arenas) l->ragged_bytes -= arenas->bytes;
    pfd_arenas_free(arenas);
}

static void free_slot(pfd_loader *l, pfd_slot *slot)
{
    pfd_slot_trace(l, slot, PFD_TRACE_SLOT_GONE);
    l->num_slots--;
    l->stream_bytes -= slot->scratch_bytes;
    count_values(l, slot, 0);
    free_arenas(l, slot->batch.arenas);
    slot->batch.arenas = NULL;
    free_memory(slot);
}

static void free_first_arenas(pfd_loader *l)
{
    pfd_arenas *arenas = l->free_arenas;
    l->free_arenas = arenas->next_free;
    free_arenas(l, arenas);
}

/* Frees what is kept for later batches until there is room for `more` bytes, or no more to free. */
static void make_room(pfd_loader *l, pfd_slot *first_free, int64_t more)
{
    for (pfd_slot *other = first_free->next_free; other && !fits(l, more); other = other->next_free)
        drop_values(l, other);
    while (!fits(l, more) && l->free_arenas) free_first_arenas(l);
    while (!fits(l, more) && first_free->next_free) {
        pfd_slot *other = first_free->next_free;
        first_free->next_free = other->next_free;
        free_slot(l, other);
    }
}

/* Counts the values that the first free slot will need; 0: there is no room yet.  One batch is
 * always made, and so is one beside a batch that is held. */
static int32_t expect_values(pfd_loader *l, pfd_slot *slot)
{
    int64_t in_flight = l->end_in_flight - l->first_in_flight;
    if (l->most_values < 0) return in_flight < 2; /* until it is known how large batches are */
    int64_t more = l->most_values - slot->values_counted;
    if (more <= 0) return 1;
    make_room(l, slot, more);
    if (!fits(l, more) && (in_flight > 0 || l->num_held > 1)) return 0;
    count_values(l, slot, l->most_values);
    return 1;
}

int32_t pfd_slot_pool_take_arenas(pfd_loader *l, pfd_slot *slot)
{
    slot->batch.arenas = l->free_arenas ? l->free_arenas : pfd_arenas_create(&l->plan);
    if (l->free_arenas) l->free_arenas = l->free_arenas->next_free;
    return slot->batch.arenas != NULL;
}

void pfd_slot_pool_put_arenas(pfd_loader *l, pfd_slot *slot)
{
    pfd_arenas *arenas = slot->batch.arenas;
    slot->batch.arenas = NULL;
    int64_t bytes = pfd_arenas_bytes(arenas);
    l->ragged_bytes += bytes - arenas->bytes;
    arenas->bytes = bytes;
    if (!fits(l, 0)) {
        free_arenas(l, arenas);
        return;
    }
    arenas->next_free = l->free_arenas;
    l->free_arenas = arenas;
}

/* ---- Taking and giving back ------------------------------------------------------------------ */

static pfd_slot *take_free(pfd_loader *l)
{
    pfd_slot *slot = l->free_slots;
    l->free_slots = slot->next_free;
    slot->started = slot->ready = slot->end = slot->is_checked = slot->batch.stage = 0;
    for (int64_t i = 0; i < l->plan.num_file_words; i++)
        atomic_store_explicit(&slot->batch.files[i], 0, memory_order_relaxed);
    slot->batch.positions = NULL;
    slot->loop.status = PFD_OK;
    return slot;
}

static int32_t has_free_slot(pfd_loader *l)
{
    return l->free_slots || (pfd_slot_pool_has_budget(l) && pfd_slot_pool_grow(l));
}

/* NULL: there is neither a free slot nor memory for one. */
static pfd_slot *take_slot(pfd_loader *l)
{
    if (!has_free_slot(l)) return NULL;
    if (l->plan.num_ragged && !expect_values(l, l->free_slots)) return NULL;
    return take_free(l);
}

pfd_slot *pfd_slot_pool_take_at_once(pfd_loader *l)
{
    return has_free_slot(l) ? take_free(l) : NULL;
}

void pfd_slot_pool_count_scratch(pfd_loader *l, pfd_slot *slot)
{
    int64_t bytes = pfd_scratch_bytes(slot->scratch);
    l->stream_bytes += bytes - slot->scratch_bytes;
    slot->scratch_bytes = bytes;
}

/* Frees a slot beyond the planned number: it was made because many were held. */
void pfd_slot_pool_put(pfd_loader *l, pfd_slot *slot)
{
    if (l->closed || l->num_slots - l->num_held > l->prefetch + 2) {
        free_slot(l, slot);
        return;
    }
    pfd_slot_trace(l, slot, PFD_TRACE_SLOT_FREE);
    if (slot->batch.num_skipped_rows) pfd_skipped_rows_clear(&slot->batch);
    if (slot->batch.values && !fits(l, 0)) drop_values(l, slot);
    slot->next_free = l->free_slots;
    l->free_slots = slot;
}

void pfd_slot_pool_close(pfd_loader *l)
{
    while (l->free_slots) {
        pfd_slot *slot = l->free_slots;
        l->free_slots = slot->next_free;
        free_slot(l, slot);
    }
    while (l->free_arenas) free_first_arenas(l);
}

int32_t pfd_slot_pool_give_back(pfd_slot *slot)
{
    pfd_loader *l = slot->loader;
    pthread_mutex_lock(&l->lock);
    l->num_held--;
    pfd_slot_pool_put(l, slot);
    int32_t last = l->released && l->num_held == 0;
    pthread_mutex_unlock(&l->lock);
    return last;
}

/* ---- Batches in flight ----------------------------------------------------------------------- */

pfd_slot *pfd_ring_add(pfd_loader *l)
{
    if (pfd_ring_size(l) >= l->prefetch) {
        l->counters.was_full = 1;
        return NULL;
    }
    pfd_slot *slot = take_slot(l);
    pfd_counters_note_memory(&l->counters, slot != NULL);
    if (!slot) return NULL;
    slot->batch.epoch = l->next_epoch;
    slot->batch.step = l->next_step;
    pfd_slot_trace(l, slot, PFD_TRACE_SLOT_FILLS);
    l->ring[l->end_in_flight++ & l->ring_mask] = slot;
    return slot;
}

void pfd_ring_mark_ready(pfd_loader *l, pfd_slot *slot)
{
    slot->ready = 1;
    l->num_ready++;
    l->counters.stats.batches_made += !slot->end;
    pfd_slot_trace(l, slot, PFD_TRACE_SLOT_READY);
    pthread_cond_broadcast(&l->changed);
}
