/* The ring: batch number t is at t % prefetch, for t from first_in_flight to end_in_flight. */
#include "loader/ring.h"

#include "loader/slot_pool.h"

pfd_slot *pfd_ring_add(pfd_loader *l)
{
    if (pfd_ring_size(l) == l->prefetch) return NULL;
    pfd_slot *slot = pfd_slot_pool_take(l);
    if (!slot) return NULL;
    slot->epoch = l->next_epoch;
    slot->step = l->next_step;
    l->ring[l->end_in_flight++ % l->prefetch] = slot;
    return slot;
}

void pfd_ring_mark_ready(pfd_loader *l, pfd_slot *slot)
{
    slot->ready = 1;
    pthread_cond_broadcast(&l->changed);
}
