/* loader/pipeline.h -- starting, delivering and recycling batches.
 *
 *   free slots ─► started: a loop over the rows ─► ready ─► delivered, in order ─► released ─► free
 *
 * Where ops need the whole batch, or blobs are ragged, further loops follow the first one, each
 * when the one before has ended (batch_stages.h).
 *
 * Batches are started by next(), a few at a time, and made by the pool's threads and by whoever
 * waits in next(). In random access nothing else is needed: which records a batch has is
 * arithmetic. Where a reader is a stream, a second loop, the producer, reads one batch after the
 * other on any one thread, and starts the loop over its rows (stream_producer.h).
 *
 * ERRORS     A batch keeps its failure until its turn; failures come in the order of batches.
 */
#ifndef PFD_LOADER_PIPELINE_H
#define PFD_LOADER_PIPELINE_H
#include "loader/loader_fields.h"

/* Allocates the slots that are in use while the user holds one batch or two, and starts the
 * threads. A failure leaves a loader that close() accepts. */
pfd_status pfd_pipeline_open(pfd_loader *loader, pfd_error *err);
/* Ends the threads, and frees what no delivered batch needs. Repeatable. */
void pfd_pipeline_close(pfd_loader *loader);

/* Both with `consumer` held; PFD_PENDING once pfd_clock_ns() has passed the deadline. */
pfd_status pfd_pipeline_next(pfd_loader *loader, int64_t deadline_ns, pfd_batch *out,
                             pfd_error *err);
/* Throws away what is in flight, and goes on at (loader->epoch, loader->step). */
pfd_status pfd_pipeline_restart(pfd_loader *loader, int64_t deadline_ns, pfd_error *err);

/* Brings loader->stats up to date; with `lock` held. */
void pfd_pipeline_count(pfd_loader *loader);
#endif
