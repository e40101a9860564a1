/* loader/ring/ring.h -- the batches in flight, in the order in which they are delivered.
 *
 * THREADS  With the loader's `lock` held.
 */
#ifndef PFD_LOADER_RING_H
#define PFD_LOADER_RING_H
#include "loader/ring/loader_fields.h"

static inline int64_t pfd_ring_size(const pfd_loader *loader)
{
    return loader->end_in_flight - loader->first_in_flight;
}

/* The i-th batch in flight; 0 is the next one to be delivered. */
static inline pfd_slot *pfd_ring_at(const pfd_loader *loader, int64_t i)
{
    return loader->ring[(loader->first_in_flight + i) & loader->ring_mask];
}

static inline void pfd_ring_remove_first(pfd_loader *loader)
{
    loader->num_ready -= pfd_ring_at(loader, 0)->ready;
    loader->first_in_flight++;
}

/* Adds a slot for the batch (next_epoch, next_step) at the end of the ring.  NULL: the ring is
 * full, or there is no slot. */
pfd_slot *pfd_ring_add(pfd_loader *loader);

/* Marks the batch in the slot as complete or failed. */
void pfd_ring_mark_ready(pfd_loader *loader, pfd_slot *slot);
#endif
