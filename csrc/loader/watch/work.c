/* Measures what a thread works on, and writes it down while a trace is on. */
#include "loader/watch/work.h"

#include "core/cpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* Measuring takes at most this fraction (one part in ...) of the time, unless ranges are shorter
 * than the larger number allows. */
enum { MEASURED_PART = 300, MOST_UNMEASURED = 63 };

static int64_t (*const clocks[])(void) = {
    [PFD_CLOCK_WALL] = pfd_clock_ns, [PFD_CLOCK_CPU] = pfd_thread_cpu_ns};
static int64_t reading_ns[2]; /* what it takes to read each of them */

/* To convert ticks: both clocks at one moment. */
static int64_t first_ns;
static uint64_t first_ticks;

static int64_t ns_of_ticks(uint64_t ticks)
{
    uint64_t passed = pfd_ticks() - first_ticks;
    return (int64_t)((double)ticks * (double)(pfd_clock_ns() - first_ns) / (double)(passed + 1));
}

static void measure_clocks(void)
{
    enum { TIMES = 8, ROUNDS = 4 }; /* the quickest time counts: others may be interrupted */
    first_ns = pfd_clock_ns();
    first_ticks = pfd_ticks();
    for (int32_t c = 0; c < 2; c++) {
        reading_ns[c] = INT64_MAX;
        for (int32_t round = 0; round < ROUNDS; round++) {
            int64_t since = pfd_clock_ns();
            for (int32_t i = 0; i < TIMES; i++) (void)clocks[c]();
            int64_t taken_ns = (pfd_clock_ns() - since) / TIMES + 1;
            if (taken_ns < reading_ns[c]) reading_ns[c] = taken_ns;
        }
    }
}

int32_t pfd_work_open(const pfd_plan *plan, pfd_work *work)
{
    static pthread_once_t measured = PTHREAD_ONCE_INIT;
    (void)pthread_once(&measured, measure_clocks);
    int32_t num_stages = plan->num_stages + 2;
    size_t bytes = (size_t)num_stages * sizeof *work->stages +
                   (size_t)pfd_work_num_items(plan) * sizeof *work->counts;
    bytes = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    work->stages = aligned_alloc(CACHE_LINE, bytes);
    if (!work->stages) return 0;
    memset(work->stages, 0, bytes);
    work->counts = (pfd_work_count *)(work->stages + num_stages);
    for (int32_t i = 0; i < num_stages; i++)
        work->stages[i].num_since[PFD_CLOCK_WALL] = work->stages[i].num_since[PFD_CLOCK_CPU] = 1;
    atomic_store(&work->now.item, -1);
    atomic_store(&work->now.file, -1);
    (void)pthread_mutex_init(&work->kept, NULL);
    return 1;
}

void pfd_work_close(pfd_work *work)
{
    if (work->stages) (void)pthread_mutex_destroy(&work->kept);
    free(work->stages);
    *work = (pfd_work){0};
}

/* ---- While a trace is on --------------------------------------------------------------------- */

void pfd_trace_buffer_put(pfd_trace_buffer *buffer, const pfd_trace_event *event)
{
    int64_t count = atomic_load_explicit(&buffer->count, memory_order_relaxed);
    if (count == buffer->capacity) {
        atomic_fetch_add_explicit(&buffer->dropped, 1, memory_order_relaxed);
        return;
    }
    buffer->events[count] = *event;
    atomic_store_explicit(&buffer->count, count + 1, memory_order_release);
}

/* Announces the buffer before use, then looks again: it may have been taken away meanwhile. */
pfd_trace_buffer *pfd_traced_use(pfd_traced *traced)
{
    pfd_trace_buffer *buffer = atomic_load(&traced->buffer);
    if (!buffer) return NULL;
    atomic_store(&traced->used, buffer);
    if (atomic_load(&traced->buffer) == buffer) return buffer;
    atomic_store(&traced->used, NULL);
    return NULL;
}

void pfd_traced_leave(pfd_traced *traced)
{
    atomic_store(&traced->used, NULL);
}

static int32_t begin_traced(pfd_work *work)
{
    if (!pfd_traced_use(&work->traced)) return 0;
    work->traced.note_ns = pfd_clock_ns();
    pfd_work_set(&work->traced.begin_ns, work->traced.note_ns);
    return 1;
}

pfd_trace_event pfd_work_event(const pfd_work *work, int32_t kind, int64_t begin_ns)
{
    const pfd_work_now *now = &work->now;
    return (pfd_trace_event){
        .kind = kind,
        .item = atomic_load_explicit(&now->item, memory_order_relaxed),
        .begin_ns = begin_ns,
        .epoch = pfd_work_get(&now->epoch),
        .step = pfd_work_get(&now->step),
        .first_row = pfd_work_get(&now->first_row),
        .num_rows = pfd_work_get(&now->num_rows),
        .reader = (int32_t)pfd_work_get(&now->reader),
        .file = pfd_work_get(&now->file),
        .ordinal = pfd_work_get(&now->first_ordinal),
    };
}

static void note_traced(pfd_work *work, int32_t item, int64_t num_rows)
{
    pfd_trace_event event = pfd_work_event(work, PFD_TRACE_WORK, work->traced.note_ns);
    event.item = item;
    event.num_rows = num_rows;
    event.end_ns = work->traced.note_ns = pfd_clock_ns();
    pfd_trace_buffer_put(atomic_load_explicit(&work->traced.used, memory_order_relaxed), &event);
}

static void end_traced(pfd_work *work)
{
    pfd_traced *traced = &work->traced;
    pfd_trace_event event = pfd_work_event(work, PFD_TRACE_RANGE, pfd_work_get(&traced->begin_ns));
    event.end_ns = pfd_clock_ns();
    pfd_trace_buffer_put(atomic_load_explicit(&traced->used, memory_order_relaxed), &event);
    pfd_work_set(&traced->begin_ns, 0);
    pfd_traced_leave(traced);
}

/* ---- By samples ------------------------------------------------------------------------------ */

/* A number in [0, n), n <= 2^31, from a sequence that spreads evenly and has no period. */
static int64_t draw(pfd_work *work, int64_t n)
{
    const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15); /* 2^64 divided by the golden ratio */
    return (int64_t)((++work->draws * golden >> 32) * (uint64_t)n >> 32);
}

static void begin_measured(pfd_work *work)
{
    pfd_measuring *stage = work->measuring;
    int32_t drawn = stage->wall_ns ? (int32_t)draw(work, 2) : PFD_CLOCK_WALL;
    work->noted |= PFD_NOTED_MEASURED;
    work->num_notes = 1;
    stage->longest_ns = 0;
    for (int32_t c = 0; c < 2; c++) {
        work->weight[c] = c == drawn || stage->is_long ? stage->num_since[c] : 0;
        if (!work->weight[c]) continue;
        stage->num_since[c] = 0;
        work->note_ns[c] = clocks[c]();
    }
    work->begin_ns = work->note_ns[PFD_CLOCK_WALL];
}

/* Nothing was done in this range, as at the end of a stream: the next one is measured instead. */
static void forget_measured(pfd_work *work)
{
    for (int32_t c = 0; c < 2; c++)
        if (work->weight[c]) work->measuring->num_since[c] = work->weight[c];
    work->measuring->num_unmeasured = 0;
}

static void end_measured(pfd_work *work)
{
    pfd_measuring *stage = work->measuring;
    int64_t cost_ns = 0;
    if (work->num_notes == 1) {
        forget_measured(work);
        return;
    }
    for (int32_t c = 0; c < 2; c++)
        if (work->weight[c]) cost_ns += work->num_notes * reading_ns[c];
    if (work->weight[PFD_CLOCK_WALL]) {
        stage->wall_ns = work->note_ns[PFD_CLOCK_WALL] - work->begin_ns + 1;
        int64_t both_ns = work->num_notes * (reading_ns[0] + reading_ns[1]);
        stage->is_long = MEASURED_PART * both_ns < stage->wall_ns;
    }
    int64_t pause = MEASURED_PART * cost_ns / stage->wall_ns;
    if (pause > MOST_UNMEASURED) pause = MOST_UNMEASURED;
    stage->num_unmeasured = pause / 2 + draw(work, pause + 1); /* `pause` on average */
    for (int32_t c = 0; c < 2; c++) stage->num_since[c] += stage->num_unmeasured + 1;
}

void pfd_work_begin_noted(pfd_work *work)
{
    if (begin_traced(work)) work->noted |= PFD_NOTED_TRACED;
    if (work->measuring->num_unmeasured < 0) begin_measured(work);
}

void pfd_work_end_noted(pfd_work *work)
{
    if (work->noted & PFD_NOTED_MEASURED) end_measured(work);
    if (work->noted & PFD_NOTED_TRACED) end_traced(work);
    work->noted = 0;
}

static void add(_Atomic int64_t *number, int64_t more)
{
    pfd_work_set(number, pfd_work_get(number) + more);
}

/* Since the last note, for all ranges that this one stands for. */
static int64_t taken_ns(pfd_work *work, int32_t clock)
{
    int64_t now_ns = clocks[clock](), taken = now_ns - work->note_ns[clock];
    work->note_ns[clock] = now_ns;
    return taken * work->weight[clock];
}

static void measure(pfd_work *work, int32_t item, int64_t num_rows)
{
    pfd_work_count *count = &work->counts[item];
    int64_t weight = work->weight[PFD_CLOCK_WALL];
    work->num_notes++;
    add(&count->measured_ranges, 1);
    if (work->weight[PFD_CLOCK_CPU]) add(&count->cpu_ns, taken_ns(work, PFD_CLOCK_CPU));
    if (!weight) return;
    int64_t ns = taken_ns(work, PFD_CLOCK_WALL);
    if (ns > work->measuring->longest_ns) {
        work->measuring->longest_ns = ns;
        work->measuring->longest_item = item;
    }
    add(&count->wall_ns, ns);
    add(&count->rows, num_rows * weight);
    add(&count->ranges, weight);
}

void pfd_work_note(pfd_work *work, int32_t item, int64_t num_rows)
{
    if (work->noted & PFD_NOTED_MEASURED) measure(work, item, num_rows);
    if (work->noted & PFD_NOTED_TRACED) note_traced(work, item, num_rows);
}

/* ---- Slow ranges and large records ----------------------------------------------------------- */

static pfd_slow_range range_of(int32_t reader, const pfd_record *record, int64_t rows,
                               int64_t bytes, int64_t ns)
{
    return (pfd_slow_range){.ns = ns,
                            .rows = rows,
                            .reader = reader,
                            .file = record->file,
                            .ordinal = record->ordinal,
                            .bytes = bytes};
}

static const pfd_record *largest_of(const pfd_record *records, int64_t n)
{
    const pfd_record *largest = records;
    for (int64_t i = 1; i < n; i++)
        if (records[i].size > largest->size) largest = &records[i];
    return largest;
}

void pfd_work_keep_largest(pfd_work *work, int32_t reader, const pfd_record *records, int64_t n)
{
    const pfd_record *record = largest_of(records, n);
    work->most_bytes = record->size;
    pthread_mutex_lock(&work->kept);
    work->largest = range_of(reader, record, 1, record->size, 0);
    pthread_mutex_unlock(&work->kept);
}

/* Puts a range into a list, the slowest first; its place, or -1: all in a full list are slower. */
static int32_t insert_slow(pfd_slow_range *slowest, int32_t *size, const pfd_slow_range *range)
{
    int32_t place = *size;
    if (place < PFD_MOST_SLOWEST) ++*size;
    else if (slowest[--place].ns >= range->ns) return -1;
    for (; place > 0 && slowest[place - 1].ns < range->ns; place--)
        slowest[place] = slowest[place - 1];
    slowest[place] = *range;
    return place;
}

/* The item of a slow range: that which took the longest in it, or did when one was measured. */
void pfd_work_keep_slow(pfd_work *work, uint64_t ticks, int64_t rows, const pfd_record *record,
                        int64_t bytes)
{
    pfd_measuring *stage = work->measuring;
    int32_t reader = (int32_t)pfd_work_get(&work->now.reader);
    int64_t ns = ns_of_ticks(ticks);
    pfd_slow_range range = range_of(reader, record, rows, bytes, ns);
    pthread_mutex_lock(&work->kept);
    int32_t place = insert_slow(stage->slowest, &stage->num_slowest, &range);
    if (place >= 0) {
        for (int32_t i = stage->num_slowest - 1; i > place; i--)
            stage->items[i] = stage->items[i - 1];
        stage->items[place] = stage->longest_item;
    }
    pthread_mutex_unlock(&work->kept);
    double last = (double)stage->slowest[PFD_MOST_SLOWEST - 1].ns;
    stage->slow_ticks = (uint64_t)((double)ticks * last / (double)(ns + 1));
}

void pfd_work_add_slow(pfd_work *work, int32_t num_stages, int32_t item, pfd_work_stats *out)
{
    pthread_mutex_lock(&work->kept);
    for (int32_t s = 0; s < num_stages; s++)
        for (int32_t i = 0; i < work->stages[s].num_slowest; i++)
            if (work->stages[s].items[i] == item)
                (void)insert_slow(out->slowest, &out->num_slowest, &work->stages[s].slowest[i]);
    int32_t is_of_reader = out->kind == PFD_WORK_RECORDS && work->largest.reader == out->reader;
    if (is_of_reader && work->largest.bytes > out->largest.bytes) out->largest = work->largest;
    pthread_mutex_unlock(&work->kept);
}

/* What this thread waits for. */
static _Thread_local struct {
    pfd_work_count *count; /* NULL: for no lock */
    int64_t since_ns;
} lock_wait;

void pfd_work_wants_lock(pfd_work *work, int32_t item)
{
    lock_wait.count = &work->counts[item];
    lock_wait.since_ns = pfd_clock_ns();
}

void pfd_lock_taken(void)
{
    if (lock_wait.count) add(&lock_wait.count->lock_ns, pfd_clock_ns() - lock_wait.since_ns);
    lock_wait.count = NULL;
}

/* Functions of CPython. */
static struct {
    void *(*found)(void);
    int32_t (*is_ending)(void), (*ensure)(void);
    void (*release)(int32_t);
} states;

/* A callback leaves the state with one holder, which nobody else releases in this thread. */
static void end_state(void)
{
    if (states.is_ending() || !states.found()) return;
    enum { WAS_HELD, WAS_NOT_HELD };
    (void)states.ensure();
    states.release(WAS_HELD);
    states.release(WAS_NOT_HELD);
}

void pfd_thread_states(void *(*found)(void), int32_t (*is_ending)(void), int32_t (*ensure)(void),
                       void (*release)(int32_t))
{
    states.found = found;
    states.is_ending = is_ending;
    states.ensure = ensure;
    states.release = release;
    pfd_thread_pools_on_end(end_state);
}

void pfd_work_pads(pfd_work *work, int32_t item, int64_t elements, int64_t padded)
{
    add(&work->counts[item].elements, elements);
    add(&work->counts[item].padded, padded);
}

void pfd_work_add(const pfd_work *work, int32_t item, pfd_work_stats *out)
{
    const pfd_work_count *count = &work->counts[item];
    out->rows += pfd_work_get(&count->rows);
    out->ranges += pfd_work_get(&count->ranges);
    out->measured_ranges += pfd_work_get(&count->measured_ranges);
    out->wall_ns += pfd_work_get(&count->wall_ns);
    out->cpu_ns += pfd_work_get(&count->cpu_ns);
    out->lock_ns += pfd_work_get(&count->lock_ns);
    out->elements += pfd_work_get(&count->elements);
    out->padded += pfd_work_get(&count->padded);
}
