/* Which slots a loader has: as many as the ring and a user who holds one batch or two need, and
 * more while more are held, within memory_budget. */
#include "loader/pipeline.h"

int32_t pfd_slot_pool_grow(pfd_loader *l)
{
    pfd_slot *slot = pfd_slot_create(&l->plan);
    if (!slot) return 0;
    slot->loader = l;
    slot->next_free = l->free_slots;
    l->free_slots = slot;
    l->num_slots++;
    return 1;
}

int32_t pfd_slot_pool_has_budget(const pfd_loader *l)
{
    int64_t left = l->memory_budget - l->stream_bytes;
    return left > 0 && l->num_slots < left / pfd_slot_cost(&l->plan);
}

pfd_slot *pfd_slot_pool_take(pfd_loader *l)
{
    if (!l->free_slots && !(pfd_slot_pool_has_budget(l) && pfd_slot_pool_grow(l))) return NULL;
    pfd_slot *slot = l->free_slots;
    l->free_slots = slot->next_free;
    slot->begun = slot->ready = slot->end = 0;
    slot->loop.status = PFD_OK;
    return slot;
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
        l->num_slots--;
        l->stream_bytes -= slot->scratch_bytes;
        pfd_slot_free(slot);
        return;
    }
    if (slot->num_bad_rows) pfd_slot_clear_bad_rows(slot);
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
