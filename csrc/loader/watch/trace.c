/* Writes events into the buffers of a trace, and hands them over. */
#include "loader/watch/trace.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/multi_thread_loop.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct pfd_trace {
    pfd_trace *older;
    pfd_trace_info info;
    pfd_trace_event *unended; /* when it was stopped */
    int64_t num_unended;
    int32_t num_reads; /* reads in progress, without `lock`: they keep the trace from being freed */
    pfd_trace_buffer buffers[]; /* info.num_tracks: first those of the threads of the pool */
};
enum { OF_CALLER = 2, OF_SLOTS = 1 }; /* the last two buffers, from the end */

static pfd_trace_buffer *buffer_of(pfd_trace *trace, int32_t from_end)
{
    return &trace->buffers[trace->info.num_tracks - from_end];
}

static pfd_trace_event between(int32_t kind, int64_t begin_ns, int64_t end_ns)
{
    return (pfd_trace_event){.kind = kind, .item = -1, .begin_ns = begin_ns, .end_ns = end_ns,
                             .epoch = -1, .step = -1, .file = -1, .ordinal = -1};
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Thread i of the pool has waited for work; on that thread, without `lock`. */
static void note_idle(void *ctx, int32_t i, int64_t begin_ns, int64_t end_ns)
{
    const pfd_threads *threads = ctx;
    pfd_traced *traced = &threads->works[i]->traced;
    pfd_trace_buffer *buffer = pfd_traced_use(traced);
    if (!buffer) return;
    pfd_trace_event event = between(PFD_TRACE_IDLE, begin_ns, end_ns);
    pfd_trace_buffer_put(buffer, &event);
    pfd_traced_leave(traced);
}

void pfd_trace_wait(pfd_trace *trace, int64_t begin_ns, int64_t end_ns)
{
    pfd_trace_event event = between(PFD_TRACE_WAIT, begin_ns, end_ns);
    pfd_trace_buffer_put(buffer_of(trace, OF_CALLER), &event);
}

/* An event with the batch of a slot. */
static pfd_trace_event of_slot(pfd_traced_slot slot, int32_t kind, int32_t item, int64_t begin_ns,
                               int64_t end_ns)
{
    pfd_trace_event event = between(kind, begin_ns, end_ns);
    event.item = item;
    event.epoch = slot.epoch;
    event.step = slot.step;
    event.num_rows = slot.rows;
    return event;
}

void pfd_trace_delivery(pfd_trace *trace, pfd_traced_slot slot, int64_t asked_ns)
{
    if (slot.step < 0) return;
    pfd_trace_event event =
        of_slot(slot, PFD_TRACE_NEXT, pfd_thread_system_id(), asked_ns, pfd_clock_ns());
    pfd_trace_buffer_put(buffer_of(trace, OF_CALLER), &event);
}

void pfd_trace_slot(pfd_trace *trace, pfd_traced_slot slot, int32_t state)
{
    int64_t now_ns = pfd_clock_ns();
    pfd_trace_event event = of_slot(slot, state, slot.number, now_ns, now_ns);
    pfd_trace_buffer_put(buffer_of(trace, OF_SLOTS), &event);
}

/* ---- Traces that were stopped ---------------------------------------------------------------- */

static void free_one(pfd_trace *trace)
{
    free(trace->buffers[0].events); /* the memory of all of them */
    free(trace->unended);
    free(trace);
}

/* The track of worker i; the last worker is the thread in next(). */
static int32_t track_of(const pfd_threads *threads, int32_t i)
{
    return i < threads->num_workers ? i : threads->most_threads;
}

static int32_t is_used(const pfd_trace *trace, const pfd_threads *threads)
{
    if (trace->num_reads) return 1;
    for (int32_t i = 0; threads && i <= threads->num_workers; i++)
        if (atomic_load(&pfd_threads_work(threads, i)->traced.used) ==
            &trace->buffers[track_of(threads, i)])
            return 1;
    return 0;
}

void pfd_traces_drop(pfd_traces *traces, const pfd_threads *threads)
{
    pfd_trace **at = &traces->stopped;
    while (*at) {
        pfd_trace *trace = *at;
        if (is_used(trace, threads)) {
            at = &trace->older;
        } else {
            *at = trace->older;
            free_one(trace);
        }
    }
}

/* ---- Start and stop -------------------------------------------------------------------------- */

/* The wall clock at a moment of the monotonic clock: it is read between two reads of the monotonic
 * clock that are as close as possible. */
static int64_t unix_ns_at(int64_t *monotonic_ns)
{
    enum { TIMES = 8 };
    int64_t least_ns = INT64_MAX, found_ns = 0;
    for (int32_t i = 0; i < TIMES; i++) {
        int64_t before_ns = pfd_clock_ns(), wall_ns = pfd_unix_ns();
        int64_t taken_ns = pfd_clock_ns() - before_ns;
        if (taken_ns >= least_ns) continue;
        least_ns = taken_ns;
        *monotonic_ns = before_ns + taken_ns / 2;
        found_ns = wall_ns;
    }
    return found_ns;
}

static pfd_trace *create(int32_t num_buffers, int64_t bytes)
{
    int64_t capacity = bytes / (int64_t)sizeof(pfd_trace_event) / num_buffers;
    size_t size = sizeof(pfd_trace) + (size_t)num_buffers * sizeof(pfd_trace_buffer);
    pfd_trace *trace = calloc(1, size);
    if (!trace) return NULL;
    trace->unended = calloc((size_t)num_buffers, sizeof *trace->unended);
    pfd_trace_event *events = calloc((size_t)(capacity * num_buffers), sizeof *events);
    for (int32_t i = 0; i < num_buffers; i++)
        trace->buffers[i] = (pfd_trace_buffer){
            .events = events ? events + i * capacity : NULL, .capacity = capacity};
    trace->info = (pfd_trace_info){.struct_size = sizeof trace->info, .num_tracks = num_buffers};
    if (events && trace->unended) return trace;
    free_one(trace);
    return NULL;
}

/* NULL takes them away. */
static void give_buffers(pfd_threads *threads, pfd_trace *trace)
{
    for (int32_t i = 0; i <= threads->num_workers; i++) {
        pfd_work *work = pfd_threads_work(threads, i);
        atomic_store(&work->traced.buffer, trace ? &trace->buffers[track_of(threads, i)] : NULL);
        pfd_work_set(&work->note_from, trace ? INT64_MAX : 0);
    }
    pfd_thread_pool_on_idle(threads->pool, trace ? note_idle : NULL, threads);
}

pfd_status pfd_traces_start(pfd_traces *traces, pfd_threads *threads, int64_t bytes,
                            pfd_error *err)
{
    if (!threads) return pfd_fail(err, PFD_CANCELLED, "the loader is closed");
    if (traces->on)
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "the loader is being traced already");
    const int64_t least = (threads->most_threads + 2) * (int64_t)sizeof(pfd_trace_event);
    if (bytes < least)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "memory = %" PRId64 "; a trace of this loader needs %" PRId64
                        " bytes or more",
                        bytes, least);
    pfd_traces_drop(traces, threads);
    pfd_trace *trace = create(threads->most_threads + 2, bytes);
    if (!trace) return pfd_fail_memory(err, bytes, "a trace");
    trace->info.begin_unix_ns = unix_ns_at(&trace->info.begin_ns);
    traces->on = trace;
    give_buffers(threads, trace);
    return PFD_OK;
}

void pfd_traces_add_threads(const pfd_traces *traces, pfd_threads *threads)
{
    if (traces->on) give_buffers(threads, traces->on);
}

/* Adds what thread i does now, if it has started: a range, or waiting for work.  A range that ends
 * while it is read has its own event. */
static void add_unended(pfd_trace *trace, const pfd_threads *threads, int32_t i)
{
    const pfd_work *work = pfd_threads_work(threads, i);
    pfd_trace_event *event = &trace->unended[trace->num_unended];
    int64_t idle_since_ns =
        i < threads->num_workers ? pfd_thread_pool_idle_since_ns(threads->pool, i) : 0;
    if (idle_since_ns) {
        *event = between(PFD_TRACE_IDLE, idle_since_ns, 0);
    } else {
        int64_t begin_ns = pfd_work_get(&work->traced.begin_ns);
        *event = pfd_work_event(work, PFD_TRACE_RANGE, begin_ns);
        if (!begin_ns || pfd_work_get(&work->traced.begin_ns) != begin_ns) return;
    }
    event->track = track_of(threads, i);
    trace->num_unended++;
}

void pfd_traces_stop(pfd_traces *traces, pfd_threads *threads)
{
    pfd_trace *trace = traces->on;
    if (!trace) return;
    give_buffers(threads, NULL);
    trace->info.end_unix_ns = unix_ns_at(&trace->info.end_ns);
    for (int32_t i = 0; i <= threads->num_workers; i++) add_unended(trace, threads, i);
    traces->on = NULL;
    trace->older = traces->stopped;
    traces->stopped = trace;
}

/* ---- Reading a trace ------------------------------------------------------------------------- */

pfd_status pfd_traces_get_info(const pfd_traces *traces, pfd_trace_info *out)
{
    const pfd_trace *trace = traces->stopped;
    if (!trace) return PFD_END;
    *out = trace->info;
    for (int32_t i = 0; i < trace->info.num_tracks; i++)
        out->dropped += atomic_load_explicit(&trace->buffers[i].dropped, memory_order_relaxed);
    return PFD_OK;
}

/* The events of a track of a stopped trace, and their number. */
static const pfd_trace_event *events_of(const pfd_trace *trace, int32_t track, int64_t *count)
{
    if (track == trace->info.num_tracks) {
        *count = trace->num_unended;
        return trace->unended;
    }
    const pfd_trace_buffer *buffer = &trace->buffers[track];
    *count = atomic_load_explicit(&buffer->count, memory_order_acquire);
    return buffer->events;
}

pfd_trace *pfd_traces_begin_read(pfd_traces *traces, int32_t track)
{
    pfd_trace *trace = traces->stopped;
    if (!trace || track < 0 || track > trace->info.num_tracks) return NULL;
    trace->num_reads++;
    return trace;
}

void pfd_trace_end_read(pfd_trace *trace)
{
    trace->num_reads--;
}

void pfd_trace_copy(const pfd_trace *trace, int32_t track, pfd_trace_event *out, int64_t room,
                    int64_t *count)
{
    const pfd_trace_event *events = events_of(trace, track, count);
    int64_t copied = *count < room ? *count : room;
    if (copied > 0) memcpy(out, events, (size_t)copied * sizeof *out);
}
