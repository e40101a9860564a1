/* loader/ring/slot_pool.h -- which slots a loader has, within memory_budget.
 *
 * THREADS  With the loader's `lock` held, but for give_back, which takes it.
 */
#ifndef PFD_LOADER_SLOT_POOL_H
#define PFD_LOADER_SLOT_POOL_H
#include "loader/ring/loader_fields.h"

int32_t pfd_slot_pool_grow(pfd_loader *loader);             /* 0: out of memory */
int32_t pfd_slot_pool_has_budget(const pfd_loader *loader); /* for one slot more */
pfd_slot *pfd_slot_pool_take(pfd_loader *loader); /* NULL: neither a free slot nor memory for one */
/* The same of a batch outside the ring, which does not wait for room for its values. */
pfd_slot *pfd_slot_pool_take_at_once(pfd_loader *loader);
void pfd_slot_pool_put(pfd_loader *loader, pfd_slot *slot);
void pfd_slot_pool_count_scratch(pfd_loader *loader, pfd_slot *slot);  /* after its records came */
int32_t pfd_slot_pool_take_arenas(pfd_loader *loader, pfd_slot *slot); /* 0: out of memory */
void pfd_slot_pool_put_arenas(pfd_loader *loader, pfd_slot *slot);
void pfd_slot_pool_free_arenas(pfd_loader *loader);
/* The values have been allocated again, or dropped; used_bytes: of them in this batch. */
void pfd_slot_pool_count_values(pfd_loader *loader, pfd_slot *slot, int64_t used_bytes);
/* Gives a delivered slot back. Returns 1 when it was the last thing that kept a released loader. */
int32_t pfd_slot_pool_give_back(pfd_slot *slot);
#endif
