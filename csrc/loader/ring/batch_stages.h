/* loader/ring/batch_stages.h -- runs the loops of one batch: its stages, then the joining of its ragged
 * rows.
 *
 * THREADS  With the loader's `lock` held.
 */
#ifndef PFD_LOADER_BATCH_STAGES_H
#define PFD_LOADER_BATCH_STAGES_H
#include "loader/ring/loader_fields.h"

/* Starts the loops over the slot's rows; the last one marks the slot ready. */
void pfd_batch_stages_start(pfd_loader *loader, pfd_slot *slot);

/* Makes the batch of a slot outside the ring on the calling thread, as worker most_threads, without
 * `lock`. */
pfd_status pfd_batch_stages_run(pfd_loader *loader, pfd_slot *slot, pfd_error *err);

/* The current loop. */
pfd_loop *pfd_batch_stages_loop(pfd_slot *slot);
#endif
