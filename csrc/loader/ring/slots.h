/* loader/ring/slots.h -- the slots of a loader: those in flight, in the order in which they are
 * delivered, and those that are free, all within memory_budget.
 *
 * THREADS  With the loader's `lock` held, but for give_back, which takes it.
 */
#ifndef PFD_LOADER_RING_SLOTS_H
#define PFD_LOADER_RING_SLOTS_H
#include "loader/ring/loader_fields.h"

/* ---- Which slots there are ------------------------------------------------------------------- */

int64_t pfd_slot_cost(const pfd_plan *plan); /* bytes of a slot, all that belongs to it */
pfd_slot *pfd_slot_of(void *memory);         /* the slot of a delivered batch */
int32_t pfd_slot_pool_grow(pfd_loader *loader);             /* 0: out of memory */
int32_t pfd_slot_pool_has_budget(const pfd_loader *loader); /* for one slot more */
/* A slot for a batch outside the ring, which does not wait for room for its values.  NULL: there is
 * neither a free slot nor memory for one. */
pfd_slot *pfd_slot_pool_take_at_once(pfd_loader *loader);
void pfd_slot_pool_put(pfd_loader *loader, pfd_slot *slot);
void pfd_slot_pool_count_scratch(pfd_loader *loader, pfd_slot *slot);  /* after its records came */
int32_t pfd_slot_pool_take_arenas(pfd_loader *loader, pfd_slot *slot); /* 0: out of memory */
void pfd_slot_pool_put_arenas(pfd_loader *loader, pfd_slot *slot);
/* The values have been allocated again, or dropped; used_bytes: of them in this batch. */
void pfd_slot_pool_count_values(pfd_loader *loader, pfd_slot *slot, int64_t used_bytes);
/* Frees all that is free. */
void pfd_slot_pool_close(pfd_loader *loader);
/* Gives a delivered slot back. Returns 1 when it was the last thing that kept a released loader. */
int32_t pfd_slot_pool_give_back(pfd_slot *slot);

/* ---- Batches in flight ----------------------------------------------------------------------- */

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

static inline pfd_traced_slot pfd_slot_traced(const pfd_slot *slot)
{
    return (pfd_traced_slot){slot->number, slot->batch.epoch, slot->batch.step, slot->batch.rows};
}

/* While a trace is on, notes that the slot enters a state PFD_TRACE_SLOT_*. */
static inline void pfd_slot_trace(const pfd_loader *loader, const pfd_slot *slot, int32_t state)
{
    if (loader->traces.on) pfd_trace_slot(loader->traces.on, pfd_slot_traced(slot), state);
}
#endif
