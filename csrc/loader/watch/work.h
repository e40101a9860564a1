/* loader/watch/work.h -- what a thread works on: shown while it works, and counted by op and stage.
 *
 * Items of work are numbered: the plan's ops, then finding the records of each reader, then reading
 * each stream, then joining ragged rows.
 *
 * Clocks and counters would take longer than a small row range. So ranges are measured only so
 * often that measuring takes a few thousandths of the time.  All long ranges are measured, by two
 * clocks; a measured short range is measured by one clock: the clock of a thread's CPU time is a
 * call of the kernel, which may then run another thread.  The clock is drawn at random, so that it
 * has no pattern in common with the work.  Each stage has measured ranges of its own: those of one
 * stage may take a thousand times as long as those of another.  A measured range stands for itself
 * and for all ranges of its stage since the last one that the same clock measured.  While a trace
 * is on, each range is noted, and written into a buffer of the thread (trace.h).
 *
 * THREADS  One thread at a time writes a pfd_work and its buffer; any thread may read them.
 */
#ifndef PFD_LOADER_WATCH_WORK_H
#define PFD_LOADER_WATCH_WORK_H
#include "core/multi_thread_loop.h"
#include "loader/plan/plan.h"
#include "pyflowdata/pyflowdata.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- The buffer of a thread, while a trace is on --------------------------------------------- */

/* The buffer's count publishes an event, which never changes after: other threads may read all
 * counted events.  When a buffer is full, later events are dropped and counted. */
typedef struct pfd_trace_buffer {
    pfd_trace_event *events;
    int64_t capacity;
    _Atomic int64_t count, dropped;
    char apart[32]; /* from the next one, which another thread writes: a cache line in all */
} pfd_trace_buffer;

/* What a thread knows of the trace. */
typedef struct pfd_traced {
    _Atomic(pfd_trace_buffer *) buffer; /* to write into; NULL: there is no trace */
    _Atomic(pfd_trace_buffer *) used;   /* buffer that the thread writes into now, during a range */
    _Atomic int64_t begin_ns;           /* when the range began; 0: none, or not traced */
    int64_t note_ns;                    /* when the last note was made */
} pfd_traced;

void pfd_trace_buffer_put(pfd_trace_buffer *buffer, const pfd_trace_event *event);

/* Between these two calls the thread writes, and its buffer is not freed.  NULL: it is not traced.
 */
pfd_trace_buffer *pfd_traced_use(pfd_traced *traced);
void pfd_traced_leave(pfd_traced *traced);

/* ---- The work of a thread -------------------------------------------------------------------- */

/* As in pfd_work_stats. */
typedef struct pfd_work_count {
    _Atomic int64_t rows, ranges, measured_ranges, wall_ns, cpu_ns, lock_ns, elements, padded;
} pfd_work_count;

enum { PFD_CLOCK_WALL, PFD_CLOCK_CPU };
enum { PFD_NOTED_MEASURED = 1, PFD_NOTED_TRACED = 2 };

/* The numbers of pfd_thread_now.  Each is whole, but the thread goes on while they are read: some
 * may belong to one range and others to the next. */
typedef struct pfd_work_now {
    _Atomic int64_t count, epoch, step, first_row, num_rows, reader, file;
    _Atomic int64_t first_ordinal, last_ordinal;
    _Atomic int32_t item;
} pfd_work_now;

/* How the ranges to measure are chosen, for one stage. */
typedef struct pfd_measuring {
    int64_t num_unmeasured; /* ranges before the next measured one */
    int64_t num_since[2];   /* ranges since the last one measured by each PFD_CLOCK_* */
    int64_t wall_ns;        /* time of the last range measured by PFD_CLOCK_WALL; 0: none yet */
    int32_t is_long;        /* 1: the range took so long that reading both clocks costs little */
    int32_t longest_item;   /* the item that took the longest in the range that is measured */
    int64_t longest_ns;     /* how long it took */
    uint64_t slow_ticks;    /* ranges that took longer are kept */
    int32_t num_slowest;    /* and these are under pfd_work.kept */
    int32_t items[PFD_MOST_SLOWEST];
    pfd_slow_range slowest[PFD_MOST_SLOWEST];
} pfd_measuring;

typedef struct pfd_work {
    pfd_work_now now;
    _Atomic int64_t bytes;     /* bytes of record data, since open */
    pfd_traced traced;
    _Atomic int64_t note_from; /* 0; INT64_MAX: each range is noted, for a trace */
    int32_t noted;             /* what is noted of the current range: PFD_NOTED_* */
    int32_t num_notes;         /* notes of this range */
    int64_t weight[2];         /* ranges that this range stands for, by each clock; 0: the clock is
                                  not read */
    int64_t note_ns[2];        /* time of the last note, by each clock */
    int64_t begin_ns;          /* by the wall clock */
    uint64_t draws;            /* made so far */
    uint64_t begin_ticks;      /* when the range began */
    int64_t most_bytes;        /* of a record so far */
    pfd_slow_range largest;    /* that record, under `kept` */
    pthread_mutex_t kept;      /* guards what other threads read of slow and large records */
    pfd_measuring *measuring;  /* which ranges are measured in the current stage: one of `stages` */
    pfd_measuring *stages;     /* one for each stage; after them, for joining and for reading */
    pfd_work_count *counts;    /* one for each item; in the memory of `stages`, whose cache lines no
                                  other thread writes */
} pfd_work;

static inline int32_t pfd_work_finding(const pfd_plan *plan, int32_t reader)
{
    return plan->num_ops + reader;
}
static inline int32_t pfd_work_reading(const pfd_plan *plan, int32_t reader)
{
    return plan->num_ops + plan->num_readers + reader;
}
static inline int32_t pfd_work_joining(const pfd_plan *plan)
{
    return plan->num_ops + 2 * plan->num_readers;
}
static inline int32_t pfd_work_num_items(const pfd_plan *plan)
{
    return pfd_work_joining(plan) + 1;
}

int32_t pfd_work_open(const pfd_plan *plan, pfd_work *work); /* 0: out of memory */
void pfd_work_close(pfd_work *work);                         /* accepts a zeroed struct */

/* Adds the counts of an item to those in *out. */
void pfd_work_add(const pfd_work *work, int32_t item, pfd_work_stats *out);

/* The thread is about to take the interpreter's lock for an item: the wait for it is counted until
 * it calls pfd_lock_taken(), of every call. */
void pfd_work_wants_lock(pfd_work *work, int32_t item);

/* States how many elements the rows of an item have, and how many of these are padding. */
void pfd_work_pads(pfd_work *work, int32_t item, int64_t elements, int64_t padded);

/* Adds the slow ranges of an item, and the largest record of its reader; any thread. */
void pfd_work_add_slow(pfd_work *work, int32_t num_stages, int32_t item, pfd_work_stats *out);

/* An event of the current range, whose end is open. */
pfd_trace_event pfd_work_event(const pfd_work *work, int32_t kind, int64_t begin_ns);

/* One of n records of a reader has more bytes than any before. */
void pfd_work_keep_largest(pfd_work *work, int32_t reader, const pfd_record *records, int64_t n);

/* A clock that costs less than others, in a unit of its own. */
static inline uint64_t pfd_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return (uint64_t)pfd_clock_ns();
#endif
}

/* How long the current range has taken, if that is among the slowest of its stage; else 0. */
static inline uint64_t pfd_work_slow_ticks(const pfd_work *work)
{
    uint64_t ticks = pfd_ticks() - work->begin_ticks;
    return ticks > work->measuring->slow_ticks ? ticks : 0;
}
/* Then: keeps the range of `rows` rows, and its record with the most bytes. */
void pfd_work_keep_slow(pfd_work *work, uint64_t ticks, int64_t rows, const pfd_record *record,
                        int64_t bytes);

/* The inline functions below call these three. */
void pfd_work_begin_noted(pfd_work *work);
void pfd_work_end_noted(pfd_work *work);
void pfd_work_note(pfd_work *work, int32_t item, int64_t num_rows);

static inline void pfd_work_set(_Atomic int64_t *number, int64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}
static inline int64_t pfd_work_get(const _Atomic int64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

/* The thread begins, and ends, a row range of a batch, in a stage of the plan; num_stages: joining,
 * and the next number: reading. */
static inline void pfd_work_begin(pfd_work *work, int32_t stage, int64_t epoch, int64_t step,
                                  int64_t first_row, int64_t num_rows)
{
    pfd_measuring *measuring = work->measuring = &work->stages[stage];
    pfd_work_now *now = &work->now;
    pfd_work_set(&now->epoch, epoch);
    pfd_work_set(&now->step, step);
    pfd_work_set(&now->first_row, first_row);
    pfd_work_set(&now->num_rows, num_rows);
    pfd_work_set(&now->count, pfd_work_get(&now->count) + 1); /* one thread writes: no atomic add */
    work->begin_ticks = pfd_ticks();
    if (measuring->num_unmeasured-- <= pfd_work_get(&work->note_from)) pfd_work_begin_noted(work);
}
static inline void pfd_work_end(pfd_work *work)
{
    if (work->noted) pfd_work_end_noted(work);
    atomic_store_explicit(&work->now.item, -1, memory_order_relaxed);
    pfd_work_set(&work->now.file, -1);
}

/* Between these two calls: the thread begins an item, and has done the item for this number of
 * rows. */
static inline void pfd_work_start(pfd_work *work, int32_t item)
{
    atomic_store_explicit(&work->now.item, item, memory_order_relaxed);
}
static inline void pfd_work_done(pfd_work *work, int32_t item, int64_t num_rows)
{
    if (work->noted) pfd_work_note(work, item, num_rows);
}

/* The range has these records, one or more, of a reader. */
static inline void pfd_work_show(pfd_work *work, int32_t reader, const pfd_record *records,
                                 int64_t num_rows)
{
    pfd_work_now *now = &work->now;
    pfd_work_set(&now->reader, reader);
    pfd_work_set(&now->file, records[0].file);
    pfd_work_set(&now->first_ordinal, records[0].ordinal);
    pfd_work_set(&now->last_ordinal, records[num_rows - 1].ordinal);
}

/* ---- The threads of a loader ----------------------------------------------------------------- */

/* For those who watch them; the loader has the memory. */
typedef struct pfd_threads {
    pfd_thread_pool *pool;
    pfd_work **works;     /* most_threads + 1: the last is that of the caller, who helps */
    int32_t most_threads; /* the most threads that may work later */
    int32_t num_workers;  /* open workers besides the caller's; the loader's `lock` guards it */
} pfd_threads;

/* Works 0 to num_workers: the last one is the caller's.  With the loader's `lock` held. */
static inline pfd_work *pfd_threads_work(const pfd_threads *threads, int32_t i)
{
    return threads->works[i < threads->num_workers ? i : threads->most_threads];
}
#endif
