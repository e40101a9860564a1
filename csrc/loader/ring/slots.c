/* Which slots a loader has: as many as the ring and a user who holds one batch or two need, and
 * more while more are held, within memory_budget; and the memory of their ragged rows. */
#include "loader/ring/slots.h"

#include <stdlib.h>

int32_t pfd_slot_pool_grow(pfd_loader *l)
{
    pfd_slot *slot = pfd_slot_create(&l->plan);
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

/* The values of a further slot are taken to be as many as any batch had so far. */
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
    count_values(l, slot, slot->values_capacity);
}

static void drop_values(pfd_loader *l, pfd_slot *slot)
{
    free(slot->values);
    slot->values = NULL;
    slot->values_capacity = 0;
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
    free_arenas(l, slot->arenas);
    slot->arenas = NULL;
    pfd_slot_free(slot);
}

/* Frees what is kept for later batches until there is room for `more` bytes, or no more to free. */
static void make_room(pfd_loader *l, pfd_slot *first_free, int64_t more)
{
    for (pfd_slot *other = first_free->next_free; other && !fits(l, more); other = other->next_free)
        drop_values(l, other);
    while (!fits(l, more) && l->free_arenas) {
        pfd_arenas *arenas = l->free_arenas;
        l->free_arenas = arenas->next_free;
        free_arenas(l, arenas);
    }
    while (!fits(l, more) && first_free->next_free) {
        pfd_slot *other = first_free->next_free;
        first_free->next_free = other->next_free;
        free_slot(l, other);
    }
}

/* Counts beforehand what the slot, the first free one, will need; 0: it is too much, and to be
 * waited for. One batch is always made, and so is one beside one that is held. */
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
    slot->arenas = l->free_arenas ? l->free_arenas : pfd_arenas_create(&l->plan);
    if (l->free_arenas) l->free_arenas = l->free_arenas->next_free;
    return slot->arenas != NULL;
}

void pfd_slot_pool_put_arenas(pfd_loader *l, pfd_slot *slot)
{
    pfd_arenas *arenas = slot->arenas;
    if (!arenas) return;
    slot->arenas = NULL;
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

void pfd_slot_pool_free_arenas(pfd_loader *l)
{
    while (l->free_arenas) {
        pfd_arenas *arenas = l->free_arenas;
        l->free_arenas = arenas->next_free;
        free_arenas(l, arenas);
    }
}

/* ---- Taking and giving back ------------------------------------------------------------------ */

static pfd_slot *take_free(pfd_loader *l)
{
    pfd_slot *slot = l->free_slots;
    l->free_slots = slot->next_free;
    slot->started = slot->ready = slot->end = slot->stage = 0;
    slot->positions = NULL;
    slot->loop.status = PFD_OK;
    return slot;
}

static int32_t has_free_slot(pfd_loader *l)
{
    return l->free_slots || (pfd_slot_pool_has_budget(l) && pfd_slot_pool_grow(l));
}

pfd_slot *pfd_slot_pool_take(pfd_loader *l)
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

/* Slots beyond the planned number came because many were held; they go when they come back. */
void pfd_slot_pool_put(pfd_loader *l, pfd_slot *slot)
{
    if (l->closed || l->num_slots - l->num_held > l->prefetch + 2) {
        free_slot(l, slot);
        return;
    }
    pfd_slot_trace(l, slot, PFD_TRACE_SLOT_FREE);
    if (slot->num_skipped_rows) pfd_slot_clear_skipped_rows(slot);
    if (slot->values && !fits(l, 0)) drop_values(l, slot);
    slot->next_free = l->free_slots;
    l->free_slots = slot;
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
    pfd_slot *slot = pfd_slot_pool_take(l);
    pfd_counters_note_memory(&l->counters, slot != NULL);
    if (!slot) return NULL;
    slot->epoch = l->next_epoch;
    slot->step = l->next_step;
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
