/* loader/watch/counters.h -- what a loader counts: the steps of the program, memory, and what the
 * kernel knows of the threads.  What each thread works on is counted in work.h.
 *
 * OWNERSHIP  The loader has a pfd_counters, and frees what it points to by pfd_counters_close().
 * THREADS    With the loader's `lock` held, unless a comment says otherwise.
 */
#ifndef PFD_LOADER_WATCH_COUNTERS_H
#define PFD_LOADER_WATCH_COUNTERS_H
#include "core/multi_thread_loop.h"
#include "loader/watch/work.h"

/* ---- Steps: how long a program waits for batches, and how long it takes between them --------- */

/* What the time of the thread that calls next() is spent on; as in pfd_stats. */
enum {
    PFD_TIME_WAIT, PFD_TIME_HELP, PFD_TIME_LOCK, PFD_TIME_CHECK, PFD_TIME_TURN, PFD_TIME_HAND_OUT,
    PFD_TIME_CONVERT, PFD_TIME_OUTSIDE, PFD_TIME_BETWEEN, PFD_NUM_TIMES
};

/* What the latest call of next() gave. */
enum { PFD_GAVE_NOTHING, PFD_GAVE_START, PFD_GAVE_STEP, PFD_GAVE_END };

typedef struct pfd_steps {
    int64_t asked_ns, delivered_ns; /* as in pfd_stats */
    int64_t times[PFD_NUM_TIMES];   /* of the time up to counted_ns; waits, help and checks count at
                                       once */
    int64_t counted_ns;             /* 0: the program has not asked yet */
    int64_t named_ns;               /* waits, help and checks since then */
    int64_t next_ns;                /* step_next_ns of pfd_stats */
    int32_t gave;                   /* PFD_GAVE_* */
    int32_t asks;       /* next() was called for a batch that it has not given yet */
    int32_t was_ready;  /* 1: the batch was complete then */
    int32_t is_restart; /* 1: the batch is the first one since open, or since a seek */
    int64_t starts, start_ns;
    int64_t steps, waited_steps, wait_ns, train_ns;
    int64_t longest_train_ns; /* since tuning set it to 0 */
    int64_t period_end_ns;
    pfd_history history;
    pfd_moments moments;
    int32_t pauses;         /* pauses that are open */
    struct pfd_steps *kept; /* as it was when the first of them began; NULL: none is open */
} pfd_steps;

/* The library has waited, helped or checked files, in a call. */
static inline void pfd_steps_spend(pfd_steps *steps, int32_t kind, int64_t ns)
{
    steps->times[kind] += ns;
    steps->named_ns += ns;
}

/* The program asks for a batch, or goes on waiting for it; *caller tells what it did since the
 * library returned. */
void pfd_steps_ask(pfd_steps *steps, const pfd_caller *caller, int64_t now_ns, int32_t is_ready);
/* The program gets that batch, number `step` of an epoch; num_ready others are complete. */
void pfd_steps_deliver(pfd_steps *steps, int64_t now_ns, int64_t step, int64_t rows,
                       int64_t num_ready);
/* The program gets no batch: the epoch has ended, or an exception is raised. */
void pfd_steps_forget(pfd_steps *steps, int64_t now_ns, int32_t is_end);
/* The library returns before the batch is complete. */
void pfd_steps_return(pfd_steps *steps, int64_t now_ns);
/* After a seek: the first batch after it counts as a start. */
void pfd_steps_restart(pfd_steps *steps);

/* Counts between pause and resume are dropped.  Pauses may be nested.  0: out of memory. */
int32_t pfd_steps_pause(pfd_steps *steps, const pfd_caller *caller, int64_t now_ns);
void pfd_steps_resume(pfd_steps *steps, int64_t now_ns);

/* ---- All counters ---------------------------------------------------------------------------- */

/* What the kernel tells, as in pfd_stats. */
typedef struct pfd_system_counts {
    pfd_thread_usage threads; /* usage of the pool's threads, summed up */
    int64_t processors, process_cpu_ns, throttled_ns, machine_cpu_ns, pressure_ns;
} pfd_system_counts;

typedef struct pfd_counters {
    pfd_stats stats; /* the loader adds to it, and sets what it has: slots, files */
    pfd_steps steps;
    int64_t no_memory_since_ns; /* 0: there is memory for another batch, or the ring is full */
    int32_t was_full;           /* in this period of tuning, as many were in flight as may be */
    pfd_work_stats *work;       /* counts of each item, kept by pfd_counters_keep(); else NULL */
    int64_t opened_cpu_ns, opened_throttled_ns; /* what pfd_stats counts from there */
    int64_t opened_machine_ns, opened_pressure_ns;
    pfd_system_counts system; /* guarded by the loader's `asking` */
} pfd_counters;

void pfd_counters_open(pfd_counters *counters); /* for a zeroed struct; takes no locks */
void pfd_counters_close(pfd_counters *counters);

/* Counts the time in which the ring has room, but memory_budget has none. */
void pfd_counters_note_memory(pfd_counters *counters, int32_t has_memory);

/* With `asking` held, but without `lock`, which the threads need: asks the kernel about
 * `num_workers` threads, for each of which it takes files to open. */
void pfd_counters_ask(pfd_counters *counters, const pfd_thread_pool *pool, int32_t num_workers);

/* With `asking` held, too.  Brings counters->stats up to date with what threads have counted; NULL:
 * there are none any more. */
void pfd_counters_update(pfd_counters *counters, const pfd_caller *caller,
                         const pfd_threads *threads);

/* After an update: keeps the counts of work that is about to be freed.  Where memory is short,
 * there will be none to ask for. */
void pfd_counters_keep(pfd_counters *counters, const pfd_plan *plan, const pfd_threads *threads);

/* What all threads have done of an item. */
pfd_work_stats pfd_counters_work(const pfd_plan *plan, const pfd_threads *threads, int32_t item);

/* What a thread does now. */
pfd_thread_now pfd_counters_thread(const pfd_threads *threads, int32_t i);
#endif
