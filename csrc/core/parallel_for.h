/* core/parallel_for.h -- a loop over many items on its own threads, for work done once.
 *
 * THREADS  Any; the calling thread works too.  ERRORS  As of a pfd_loop: the failure of the lowest
 *          item is the one reported.
 */
#ifndef PFD_CORE_PARALLEL_FOR_H
#define PFD_CORE_PARALLEL_FOR_H
#include "core/multi_thread_loop.h"

/* Runs fn over [0, n), `chunk` items at a time, on num_threads threads; `worker` is below
 * num_threads.  With one thread, or one chunk, everything runs on the caller.  Where a thread
 * cannot be started, fewer threads do the work. */
pfd_status pfd_parallel_for(int32_t num_threads, int64_t n, int64_t chunk, pfd_loop_fn fn,
                            void *ctx, pfd_error *err);
#endif
