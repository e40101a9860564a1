/* loader/loader_fields.h -- the fields of a loader, and which lock guards them.
 *
 * LOCKS  consumer: one next(), seek() or close() at a time. asking: one question to the kernel at
 *        a time; it is not closed meanwhile. lock: everything that says so below.
 *        Order: consumer, asking, lock, the pool's.
 *
 * OWNERSHIP  The loader owns all that it points to.  pfd_loader_close() frees pool, workers, ring
 *            and slots, except those that are held; a loader that is released is freed with the
 *            last of them, and with it work, skipped, tuning, traces and steps.kept.
 */
#ifndef PFD_LOADER_LOADER_FIELDS_H
#define PFD_LOADER_LOADER_FIELDS_H
#include "core/cpu.h"
#include "core/multi_thread_loop.h"
#include "loader/kernel_chain.h"
#include "loader/steps.h"

#include <pthread.h>

#define PFD_KEPT_SKIPPED 1000

struct pfd_tuning;

/* As in pfd_stats. */
typedef struct pfd_system_counts {
    pfd_thread_usage threads; /* of the pool, summed up */
    int64_t processors, process_cpu_ns, throttled_ns;
} pfd_system_counts;

struct pfd_loader {
    pfd_plan plan;
    pfd_thread_pool *pool;
    pfd_worker *workers; /* most_threads + 1: the last is the helping caller's */
    int32_t most_threads, most_prefetch;
    int32_t tunes_threads, tunes_prefetch, chooses_prefetch;
    int32_t share, num_shares; /* which steps of an epoch are delivered */
    int64_t memory_budget;
    int32_t fork_generation;
    int64_t opened_cpu_ns, opened_throttled_ns; /* what pfd_stats counts from there */

    pthread_mutex_t consumer; /* one next(), seek() or close() at a time; guards: */
    int64_t epoch, step;      /* of the next batch to deliver */
    int64_t errors_in_epoch;
    int32_t restart; /* the batches in flight must be discarded: another one is next */
    int64_t next_check_ns; /* when to look at the files again */
    int64_t called_ns;     /* when next() was called */

    pthread_mutex_t asking; /* guards: */
    pfd_system_counts system;

    pthread_mutex_t lock;                   /* guards: */
    pthread_cond_t changed;                 /* a slot is ready */
    int32_t num_threads, prefetch; /* of now */
    int32_t num_workers;           /* that are open, besides the caller's */
    struct pfd_tuning *tuning;     /* NULL: none; tuning.h */
    int64_t ring_mask;                      /* a power of two, less 1 */
    pfd_slot **ring;                        /* batch number t is at t & ring_mask */
    int64_t first_in_flight, end_in_flight; /* batch numbers */
    int64_t num_ready;                      /* of the batches in flight: complete */
    int32_t was_full; /* as many were in flight as `prefetch` allows, in this period of tuning */
    int64_t next_epoch, next_step;          /* of the next batch to start */
    pfd_slot *free_slots;
    int32_t num_slots, num_held;
    int32_t slots_made; /* numbers of slots below it are taken */
    int64_t stream_bytes; /* of records in all slots' scratch */
    int64_t ragged_bytes; /* of values in all slots, present or expected, and of all arenas */
    int64_t most_values;  /* bytes of the largest values of a batch so far; -1: no batch yet */
    pfd_arenas *free_arenas;
    int32_t producing;    /* the producer runs, and continues while the ring has room */
    int32_t seek_streams; /* the producer must seek first */
    pfd_loop producer;    /* reads the records of one batch, into: */
    pfd_slot *produced;
    int32_t closed, released; /* closed: set with all three locks held, so any of them will do */
    pfd_stats stats;
    pfd_steps steps;
    int64_t no_memory_since_ns; /* 0: there is memory for another batch, or the ring is full */
    pfd_work_stats *work;      /* after close(): of each item */
    pfd_trace *trace;          /* that is on; NULL: none */
    pfd_trace *stopped_traces; /* the latest, and older ones that a thread writes into or reads */
    pfd_error *skipped;        /* the last PFD_KEPT_SKIPPED, as a ring */
    int64_t num_skipped;

    pfd_bounds bounds; /* cancelled: row loops end early */
};

/* Workers 0 to num_workers: the last one is the caller's.  With `lock` held. */
static inline pfd_worker *pfd_loader_worker(const pfd_loader *loader, int32_t i)
{
    return &loader->workers[i < loader->num_workers ? i : loader->most_threads];
}

/* The first step from this one on that the loader delivers. */
static inline int64_t pfd_loader_own_step(const pfd_loader *loader, int64_t step)
{
    int64_t over = step % loader->num_shares;
    return step - over + loader->share + (over > loader->share ? loader->num_shares : 0);
}

/* For questions to a loader, which take its locks and change nothing that the program sees. */
static inline pfd_loader *pfd_loader_writable(const pfd_loader *loader)
{
    return (pfd_loader *)(uintptr_t)loader;
}

/* Whether it was opened before a fork: then its threads are in the parent, and its locks too. */
static inline int32_t pfd_loader_is_foreign(const pfd_loader *loader)
{
    return loader->fork_generation != pfd_fork_generation();
}
#endif
