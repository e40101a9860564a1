/* loader/ring/trace.h -- writes down what threads and slots do, from start to stop, for a picture of it.
 *
 * Each thread of the pool has a buffer; so have the thread in next(), and the slots.
 *
 * OWNERSHIP  A thread may still be in a range when a trace is stopped. Its buffer is kept until the
 *            thread has left the range: `used` says which one it writes into. A trace that is being
 *            read is kept, too.
 * THREADS    With the loader's `lock` held.
 */
#ifndef PFD_LOADER_TRACE_H
#define PFD_LOADER_TRACE_H
#include "loader/watch/trace_buffer.h"

struct pfd_loader;
struct pfd_slot;

/* While a trace is on: the thread in next() has waited; it gets a batch; a slot enters a state
 * PFD_TRACE_SLOT_*. */
void pfd_trace_wait(struct pfd_loader *loader, int64_t begin_ns, int64_t end_ns);
void pfd_trace_delivery(struct pfd_loader *loader, const struct pfd_slot *slot);
void pfd_trace_slot(struct pfd_loader *loader, const struct pfd_slot *slot, int32_t state);

/* While a trace is on or not: the pool has got further threads. */
void pfd_trace_add_threads(struct pfd_loader *loader);

/* Stops the trace that is on, if any. */
void pfd_trace_stop(struct pfd_loader *loader);
/* Frees all traces, when no thread is left. */
void pfd_trace_free(struct pfd_loader *loader);
#endif
