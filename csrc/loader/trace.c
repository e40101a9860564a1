/* Writes events into the buffers of a trace, and hands them over. */
#include "loader/trace.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/multi_thread_loop.h"
#include "loader/loader_fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct pfd_trace {
    pfd_trace *older;
    pfd_trace_info info;
    pfd_trace_event *unended; /* when it was stopped */
    int64_t num_unended;
    int32_t num_reads; /* that are in progress, without `lock`: it is not freed */
    pfd_trace_buffer buffers[]; /* of the threads of the pool, of the program's, of the slots */
};

static pfd_trace_event between(int32_t kind, int64_t begin_ns, int64_t end_ns)
{
    return (pfd_trace_event){.kind = kind, .item = -1, .begin_ns = begin_ns, .end_ns = end_ns,
                             .epoch = -1, .step = -1, .file = -1, .ordinal = -1};
}

/* Thread i of the pool has waited for work; on that thread, without `lock`. */
static void note_idle(void *loader, int32_t i, int64_t begin_ns, int64_t end_ns)
{
    pfd_loader *l = loader;
    pfd_traced *traced = &l->workers[i].work.traced; /* a thread of the pool */
    pfd_trace_buffer *buffer = pfd_traced_use(traced);
    if (!buffer) return;
    pfd_trace_event event = between(PFD_TRACE_IDLE, begin_ns, end_ns);
    pfd_trace_buffer_put(buffer, &event);
    pfd_traced_leave(traced);
}

/* ---- With the loader's lock held ------------------------------------------------------------- */

void pfd_trace_wait(pfd_loader *l, int64_t begin_ns, int64_t end_ns)
{
    pfd_trace_event event = between(PFD_TRACE_WAIT, begin_ns, end_ns);
    pfd_trace_buffer_put(&l->trace->buffers[l->most_threads], &event);
}

void pfd_trace_delivery(pfd_loader *l, const pfd_slot *slot)
{
    if (slot->step < 0) return;
    pfd_trace_event event = between(PFD_TRACE_NEXT, l->steps.asked_ns, pfd_clock_ns());
    event.item = pfd_thread_system_id();
    event.epoch = slot->epoch;
    event.step = slot->step;
    event.num_rows = slot->rows;
    pfd_trace_buffer_put(&l->trace->buffers[l->most_threads], &event);
}

void pfd_trace_slot(pfd_loader *l, const pfd_slot *slot, int32_t state)
{
    int64_t now_ns = pfd_clock_ns();
    pfd_trace_event event = between(state, now_ns, now_ns);
    event.item = slot->number;
    event.epoch = slot->epoch;
    event.step = slot->step;
    event.num_rows = slot->rows;
    pfd_trace_buffer_put(&l->trace->buffers[l->most_threads + 1], &event);
}

static void free_one(pfd_trace *trace)
{
    free(trace->buffers[0].events); /* of all of them */
    free(trace->unended);
    free(trace);
}

/* Of worker i, the last of which is the thread in next(). */
static int32_t track_of(const pfd_loader *l, int32_t i)
{
    return i < l->num_workers ? i : l->most_threads;
}

static int32_t is_used(const pfd_loader *l, const pfd_trace *trace)
{
    if (trace->num_reads) return 1;
    for (int32_t i = 0; !l->closed && i <= l->num_workers; i++)
        if (atomic_load(&pfd_loader_worker(l, i)->work.traced.used) ==
            &trace->buffers[track_of(l, i)])
            return 1;
    return 0;
}

/* Frees the traces that were stopped, except those that a thread still writes into or reads. */
static void free_old(pfd_loader *l)
{
    pfd_trace **at = &l->stopped_traces;
    while (*at) {
        pfd_trace *trace = *at;
        if (is_used(l, trace)) {
            at = &trace->older;
        } else {
            *at = trace->older;
            free_one(trace);
        }
    }
}

void pfd_trace_free(pfd_loader *l)
{
    while (l->stopped_traces) {
        pfd_trace *trace = l->stopped_traces;
        l->stopped_traces = trace->older;
        free_one(trace);
    }
}

/* The wall clock at a moment of the monotonic one: read in between, as closely as can be. */
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
static void give_buffers(pfd_loader *l, pfd_trace *trace)
{
    for (int32_t i = 0; i <= l->num_workers; i++) {
        pfd_work *work = &pfd_loader_worker(l, i)->work;
        atomic_store(&work->traced.buffer, trace ? &trace->buffers[track_of(l, i)] : NULL);
        pfd_work_set(&work->note_from, trace ? INT64_MAX : 0);
    }
    pfd_thread_pool_on_idle(l->pool, trace ? note_idle : NULL, l);
}

static pfd_status start(pfd_loader *l, int64_t bytes, pfd_error *err)
{
    const int64_t least = (l->most_threads + 2) * (int64_t)sizeof(pfd_trace_event);
    if (l->closed) return pfd_fail(err, PFD_CANCELLED, "the loader is closed");
    if (l->trace) return pfd_fail(err, PFD_INVALID_ARGUMENT, "the loader is being traced already");
    if (bytes < least)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "memory = %" PRId64 "; a trace of this loader needs %" PRId64
                        " bytes or more",
                        bytes, least);
    free_old(l);
    pfd_trace *trace = create(l->most_threads + 2, bytes);
    if (!trace) return pfd_fail_memory(err, bytes, "a trace");
    trace->info.begin_unix_ns = unix_ns_at(&trace->info.begin_ns);
    l->trace = trace;
    give_buffers(l, trace);
    return PFD_OK;
}

/* Adds what thread i does now, if it has started: a range, or waiting for work.  A range that ends
 * while it is read has an event of its own. */
static void add_unended(pfd_loader *l, pfd_trace *trace, int32_t i)
{
    const pfd_work *work = &pfd_loader_worker(l, i)->work;
    pfd_trace_event *event = &trace->unended[trace->num_unended];
    int64_t idle_since_ns =
        i < l->num_workers ? pfd_thread_pool_idle_since_ns(l->pool, i) : 0;
    if (idle_since_ns) {
        *event = between(PFD_TRACE_IDLE, idle_since_ns, 0);
    } else {
        int64_t begin_ns = pfd_work_get(&work->traced.begin_ns);
        *event = pfd_work_event(work, PFD_TRACE_RANGE, begin_ns);
        if (!begin_ns || pfd_work_get(&work->traced.begin_ns) != begin_ns) return;
    }
    event->track = track_of(l, i);
    trace->num_unended++;
}

void pfd_trace_add_threads(pfd_loader *l)
{
    if (l->trace) give_buffers(l, l->trace);
}

void pfd_trace_stop(pfd_loader *l)
{
    pfd_trace *trace = l->trace;
    if (!trace) return;
    give_buffers(l, NULL);
    trace->info.end_unix_ns = unix_ns_at(&trace->info.end_ns);
    for (int32_t i = 0; i <= l->num_workers; i++) add_unended(l, trace, i);
    l->trace = NULL;
    trace->older = l->stopped_traces;
    l->stopped_traces = trace;
}

/* ---- For whoever asks ------------------------------------------------------------------------ */

pfd_status pfd_loader_trace_start(pfd_loader *l, int64_t bytes, pfd_error *err)
{
    if (pfd_loader_is_foreign(l))
        return pfd_fail(err, PFD_UNSUPPORTED, "this loader was opened before a fork");
    pthread_mutex_lock(&l->lock);
    pfd_status status = start(l, bytes, err);
    pthread_mutex_unlock(&l->lock);
    return status;
}

pfd_status pfd_loader_trace_stop(pfd_loader *l, pfd_trace_info *out)
{
    if (pfd_loader_is_foreign(l)) return PFD_UNSUPPORTED;
    pthread_mutex_lock(&l->lock);
    pfd_trace_stop(l);
    pfd_trace *trace = l->stopped_traces;
    if (trace) {
        trace->info.dropped = 0;
        for (int32_t i = 0; i < trace->info.num_tracks; i++)
            trace->info.dropped +=
                atomic_load_explicit(&trace->buffers[i].dropped, memory_order_relaxed);
        *out = trace->info;
    }
    pthread_mutex_unlock(&l->lock);
    return trace ? PFD_OK : PFD_END;
}

/* Of a track of a stopped trace, and how many there are. */
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

/* The stopped trace, if it has such a track: it stays until end_read(). */
static pfd_trace *begin_read(pfd_loader *l, int32_t track)
{
    pthread_mutex_lock(&l->lock);
    pfd_trace *trace = l->stopped_traces;
    if (trace && (track < 0 || track > trace->info.num_tracks)) trace = NULL;
    if (trace) trace->num_reads++;
    pthread_mutex_unlock(&l->lock);
    return trace;
}

static void end_read(pfd_loader *l, pfd_trace *trace)
{
    pthread_mutex_lock(&l->lock);
    trace->num_reads--;
    pthread_mutex_unlock(&l->lock);
}

pfd_status pfd_loader_trace_read(pfd_loader *l, int32_t track, pfd_trace_event *out, int64_t room,
                                 int64_t *count)
{
    if (pfd_loader_is_foreign(l)) return PFD_UNSUPPORTED;
    pfd_trace *trace = begin_read(l, track);
    if (!trace) return PFD_END;
    const pfd_trace_event *events = events_of(trace, track, count);
    int64_t copied = *count < room ? *count : room;
    if (copied > 0) memcpy(out, events, (size_t)copied * sizeof *out);
    end_read(l, trace);
    return PFD_OK;
}

void pfd_loader_trace_drop(pfd_loader *l)
{
    if (pfd_loader_is_foreign(l)) return;
    pthread_mutex_lock(&l->lock);
    free_old(l);
    pthread_mutex_unlock(&l->lock);
}
