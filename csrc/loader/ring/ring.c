/* The ring: batch number t is at t & ring_mask, for t from first_in_flight to end_in_flight. */
#include "loader/ring/ring.h"

#include "core/cpu.h"
#include "loader/ring/slot_pool.h"
#include "loader/ring/trace.h"

/* Counts the time in which the ring has room, but memory_budget has none. */
static void note_memory(pfd_loader *l, int32_t has_memory)
{
    if (has_memory == !l->no_memory_since_ns) return;
    int64_t now_ns = pfd_clock_ns();
    if (has_memory) l->stats.no_memory_ns += now_ns - l->no_memory_since_ns;
    l->no_memory_since_ns = has_memory ? 0 : now_ns;
}

pfd_slot *pfd_ring_add(pfd_loader *l)
{
    if (pfd_ring_size(l) >= l->prefetch) {
        l->was_full = 1;
        return NULL;
    }
    pfd_slot *slot = pfd_slot_pool_take(l);
    note_memory(l, slot != NULL);
    if (!slot) return NULL;
    slot->epoch = l->next_epoch;
    slot->step = l->next_step;
    if (l->trace) pfd_trace_slot(l, slot, PFD_TRACE_SLOT_FILLS);
    l->ring[l->end_in_flight++ & l->ring_mask] = slot;
    return slot;
}

void pfd_ring_mark_ready(pfd_loader *l, pfd_slot *slot)
{
    slot->ready = 1;
    l->num_ready++;
    l->stats.batches_made += !slot->end;
    if (l->trace) pfd_trace_slot(l, slot, PFD_TRACE_SLOT_READY);
    pthread_cond_broadcast(&l->changed);
}
