/* loader/watch/trace_buffer.h -- the events of one thread, while a trace is on.
 *
 * An event is published by the buffer's count, and stays as it is, so that others may read those
 * that count. When a buffer is full, later events are dropped and counted.
 *
 * THREADS  One thread at a time writes into a buffer; any thread may read it.
 */
#ifndef PFD_LOADER_TRACE_BUFFER_H
#define PFD_LOADER_TRACE_BUFFER_H
#include "pyflowdata/pyflowdata.h"

#include <stdatomic.h>

typedef struct pfd_trace pfd_trace; /* trace.c */

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

void pfd_trace_buffer_put(pfd_trace_buffer *buffer, const pfd_trace_event *event);

/* The thread begins to write, and ends: in between its buffer is not freed.  NULL: it is not
 * traced. */
pfd_trace_buffer *pfd_traced_use(pfd_traced *traced);
void pfd_traced_leave(pfd_traced *traced);
#endif
