/* loader/ring/ring.h -- starts, delivers and recycles batches.
 *
 *   free slots ─► started: a loop over the rows ─► ready ─► delivered, in order ─► released ─► free
 *
 * If ops need the whole batch, or blobs are ragged, more loops follow the first one, each after
 * the one before has ended.
 *
 * next() starts batches, a few at a time. The threads of the pool make them, and so does a
 * thread that waits in next(). With random access nothing else is needed: the records of a batch
 * are computed. If a reader is a stream, another loop, the producer, reads one batch after the
 * other, on one thread at a time, and starts the loop over its rows.
 *
 * ERRORS     A batch keeps its failure until its turn; failures come in the order of batches.
 */
#ifndef PFD_LOADER_RING_RING_H
#define PFD_LOADER_RING_RING_H
#include "loader/ring/loader_fields.h"

/* Allocates enough slots for a user who holds one or two batches, and starts the threads. After a
 * failure close() accepts the loader. */
pfd_status pfd_ring_open(pfd_loader *loader, pfd_error *err);
/* Ends the threads, and frees everything except delivered batches. Repeatable. */
void pfd_ring_close(pfd_loader *loader);

/* This and the next function need `consumer` held. PFD_PENDING: pfd_clock_ns() has passed the
 * deadline. */
pfd_status pfd_ring_next(pfd_loader *loader, int64_t deadline_ns, pfd_batch *out,
                         pfd_error *err);
/* Discards the batches in flight, and continues at (loader->epoch, loader->step). */
pfd_status pfd_ring_restart(pfd_loader *loader, int64_t deadline_ns, pfd_error *err);

/* The rows at positions, on the calling thread; as pfd_loader_read(), with `consumer` held, and
 * nothing to restart. */
pfd_status pfd_ring_read(pfd_loader *loader, int64_t epoch, const int64_t *positions, int64_t n,
                         pfd_batch *out, pfd_error *err);

/* Sets the number of threads and of batches in flight; with `consumer` held, if something is
 * tuned. */
void pfd_ring_adjust(pfd_loader *loader, int32_t num_threads, int32_t prefetch);

/* Update the counters: first ask() with `asking` held, then count() with `lock` held, too. */
void pfd_ring_ask(pfd_loader *loader);
void pfd_ring_count(pfd_loader *loader);
#endif
