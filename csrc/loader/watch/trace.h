/* loader/watch/trace.h -- writes down what threads and slots do, from start to stop, for a picture
 * of it.
 *
 * Each thread of the pool has a buffer; so have the thread in next(), and the slots.
 *
 * WHILE IT IS OFF, a trace costs nothing in a row range.  pfd_work_begin() in work.h compares a
 * number with `note_from` anyway, to find the ranges that are measured: 0 there means that these
 * alone are noted, and a trace writes INT64_MAX, so that all are.  A slot that enters a state, a
 * few times for each batch, finds that `on` is NULL.
 *
 * OWNERSHIP  A thread may still be in a range when a trace is stopped. Its buffer is kept until the
 *            thread has left the range: pfd_traced.used says which one it writes into. A trace that
 *            is being read is kept, too.
 * THREADS    With the loader's `lock` held, except for pfd_trace_copy().
 */
#ifndef PFD_LOADER_WATCH_TRACE_H
#define PFD_LOADER_WATCH_TRACE_H
#include "loader/watch/work.h"

typedef struct pfd_trace pfd_trace;

/* The traces of a loader. */
typedef struct pfd_traces {
    pfd_trace *on;      /* NULL: none */
    pfd_trace *stopped; /* the latest, and older ones that a thread writes into or reads */
} pfd_traces;

/* What a trace tells of a slot. */
typedef struct pfd_traced_slot {
    int32_t number;
    int64_t epoch, step, rows; /* place and size of its batch */
} pfd_traced_slot;

/* Write into the trace that is on: that the thread in next() has waited; that it gets the batch
 * that it asked for at asked_ns; that a slot enters a state PFD_TRACE_SLOT_*. */
void pfd_trace_wait(pfd_trace *trace, int64_t begin_ns, int64_t end_ns);
void pfd_trace_delivery(pfd_trace *trace, pfd_traced_slot slot, int64_t asked_ns);
void pfd_trace_slot(pfd_trace *trace, pfd_traced_slot slot, int32_t state);

/* Starts a trace of so many bytes; `threads` NULL: the loader is closed. */
pfd_status pfd_traces_start(pfd_traces *traces, pfd_threads *threads, int64_t bytes,
                            pfd_error *err);
/* The pool has got further threads, whether a trace is on or not. */
void pfd_traces_add_threads(const pfd_traces *traces, pfd_threads *threads);
/* Stops the trace that is on, if any. */
void pfd_traces_stop(pfd_traces *traces, pfd_threads *threads);
/* Frees the traces that were stopped, except those that are read, or that one of `threads` still
 * writes into; NULL: no thread is left. */
void pfd_traces_drop(pfd_traces *traces, const pfd_threads *threads);

/* Describes the trace that was stopped last; PFD_END: there is none. */
pfd_status pfd_traces_get_info(const pfd_traces *traces, pfd_trace_info *out);

/* The same trace, which stays until end_read(); NULL: none, or it has no such track. */
pfd_trace *pfd_traces_begin_read(pfd_traces *traces, int32_t track);
void pfd_trace_end_read(pfd_trace *trace);
/* Copies the events of a track; *count: how many there are. */
void pfd_trace_copy(const pfd_trace *trace, int32_t track, pfd_trace_event *out, int64_t room,
                    int64_t *count);
#endif
