/* loader/trace.h -- writes down what threads and slots do, from start to stop, for a picture of it.
 *
 * Each thread of the pool has a buffer; so have the thread in next(), and the slots. An event is
 * published by the buffer's count, and stays as it is, so that others may read those that count.
 * When a buffer is full, later events are dropped and counted.
 *
 * OWNERSHIP  A thread may still be in a range when a trace is stopped. Its buffer is kept until the
 *            thread has left the range: `used` says which one it writes into.
 * THREADS    Those with a loader: with its `lock` held, unless they say otherwise.  Those with a
 *            pfd_work: the thread that writes it.
 */
#ifndef PFD_LOADER_TRACE_H
#define PFD_LOADER_TRACE_H
#include "pyflowdata/pyflowdata.h"

#include <stdatomic.h>

typedef struct pfd_trace_buffer {
    pfd_trace_event *events;
    int64_t capacity;
    _Atomic int64_t count, dropped;
    char apart[32]; /* from the next one, which another thread writes: a cache line in all */
} pfd_trace_buffer;

/* What a thread knows of the trace. */
typedef struct pfd_traced {
    _Atomic(pfd_trace_buffer *) buffer; /* to write into; NULL: there is no trace */
    _Atomic(pfd_trace_buffer *) used;   /* that it writes into now, during a range */
    _Atomic int64_t begin_ns;           /* of the range; 0: none, or not traced */
    int64_t note_ns;                    /* of its last note */
} pfd_traced;

struct pfd_loader;
struct pfd_slot;
struct pfd_work;
typedef struct pfd_trace pfd_trace;

/* A thread begins a range, has done an item of it, and ends it.  0: it is not traced. */
int32_t pfd_trace_begin(struct pfd_work *work);
void pfd_trace_note(struct pfd_work *work, int32_t item, int64_t num_rows);
void pfd_trace_end(struct pfd_work *work);

/* Thread i of the pool has waited for work; on that thread, without `lock`. */
void pfd_trace_idle(void *loader, int32_t i, int64_t begin_ns, int64_t end_ns);

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
