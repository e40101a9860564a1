/* loader/ring/loader_fields.h -- the fields of a loader, and which lock guards them.
 *
 * LEASE  Each call about a loader holds a lease until it returns, see pfd_lease.  So close() frees
 *        nothing that a call reads, and no call outlives the loader.
 * LOCKS  consumer: one next(), seek() or close() at a time.  asking: one question to the kernel at
 *        a time, during which the loader is not closed.  lock: all fields that say so below.
 *        They are taken in this order: consumer, asking, lock, the pool's.  A lease is taken before
 *        all of them and given back after them.
 *
 *        Counters, traces and tuning have structs of their own and see no other field: their
 *        callers hand them what they need, and hold the locks that their headers name.
 *
 * OWNERSHIP  The loader owns all that it points to.  pfd_loader_close() frees pool, workers, ring
 *            and slots, except those that are held; a loader that is released is freed with the
 *            last of them, and with it skipped, tuning, traces and what the counters keep.
 */
#ifndef PFD_LOADER_RING_LOADER_FIELDS_H
#define PFD_LOADER_RING_LOADER_FIELDS_H
#include "loader/rows/kernel_chain.h"
#include "loader/watch/trace.h"
#include "loader/watch/tuning.h"
#include "loader/watch/watchdog.h"

#include <pthread.h>

#define PFD_KEPT_SKIPPED 1000

/* The calls about a loader that have not returned.
 *
 * A use needs the loader open: it takes batches, moves the loader, or reads files.  Once the loader
 * closes, further uses are refused; close() waits for those inside, and frees things afterwards.  A
 * question reads counters, traces and facts, which are there until the loader is released: release
 * waits for questions, too.
 *
 * Both counts and the mark of close() are in one word, so that a call costs one addition at its
 * beginning and one subtraction at its end.  A thread that waits for them waits for `changed`.
 */
typedef struct pfd_lease {
    _Atomic int64_t calls;
} pfd_lease;

#define PFD_LEASE_CLOSING INT64_C(1)
#define PFD_LEASE_USE INT64_C(2)
#define PFD_LEASE_QUESTION (INT64_C(1) << 32)
#define PFD_LEASE_USES (PFD_LEASE_QUESTION - PFD_LEASE_USE) /* a mask: how many uses */

/* The memory and the state of one batch.
 *
 * OWNERSHIP  The loader owns slots, even while a user holds the batch.
 * THREADS    Until it is ready a slot belongs to its loops, then to the thread that delivers it.
 */
typedef struct pfd_slot {
    pfd_row_batch batch; /* first: a slot is found by its rows */
    struct pfd_loader *loader;
    struct pfd_slot *next_free;
    int32_t number; /* among all slots that the loader ever had; under its lock */
    int32_t started, ready; /* the loop over the rows; under the loader's lock */
    int32_t is_checked;     /* its files were looked at after it was ready: they are as at open */
    int32_t end;            /* 1: not a batch, but the end of a stream's epoch */

    pfd_scratch *scratch;   /* scratch of the stream records' bytes */
    int64_t scratch_bytes;  /* the part of it that is counted in the loader's stream_bytes */
    int64_t values_counted; /* the values that the loader's ragged_bytes has or expects */

    pfd_loop loop; /* over the rows; its status and error are those of the batch, even if a stream
                      failed before there were rows */
    pfd_loop *more_loops; /* loops of the stages after the first, and of the joining */
    int32_t num_more_loops;
} pfd_slot;

enum { PFD_CHECK_NONE, PFD_CHECK_RUNS, PFD_CHECK_FAILED };

struct pfd_loader {
    pfd_plan plan;
    pfd_threads threads; /* `lock` guards num_workers */
    pfd_worker *workers; /* most_threads + 1: the last is the helping caller's */
    int32_t most_prefetch;
    int32_t tunes_threads, tunes_prefetch, chooses_prefetch;
    int32_t share, num_shares; /* as in pfd_loader_options */
    int64_t memory_budget;
    int32_t fork_generation;
    pfd_lease lease;
    pfd_bounds bounds; /* cancelled: row loops end early */
    _Atomic int64_t retries; /* bounds.retries */
    int64_t opened_ns;       /* by the clock that files are dated by; set at open */

    pthread_mutex_t consumer; /* one next(), seek() or close() at a time; guards: */
    int64_t epoch, step;      /* place of the next batch to deliver */
    int64_t errors_in_epoch;
    int32_t restart;       /* the batches in flight must be discarded: another one is next */
    int64_t next_check_ns; /* when to look at the files again */
    int64_t next_look_ns;  /* when to look at the files of a few batches again, see gathers() */
    pfd_file_set *looked_at; /* the files of such a look */
    int32_t looks_early;   /* the thread that makes a batch looks at its files; set at open */
    pfd_loop checker;      /* looks at all files, in a thread of the pool */
    int64_t called_ns;     /* when next() was called */
    int64_t check_ns;      /* looked at files, and not counted yet */
    pfd_caller caller;     /* written by its thread */
    pfd_watched *watched;  /* NULL: its stalls are not watched, or not yet */

    _Atomic int32_t check_state; /* PFD_CHECK_* of `checker` */
    _Atomic int64_t checker_ns;  /* how long the last look at all files took */

    pthread_mutex_t asking; /* guards counters.system */

    pthread_mutex_t lock;          /* guards: */
    pthread_cond_t changed;        /* a slot is ready, or a call ended while the loader closes */
    int32_t num_threads, prefetch; /* current numbers */
    int32_t closed, released; /* closed: set with all three locks held, so any of them will do */

    pfd_slot **ring;                        /* batch number t is at t & ring_mask */
    int64_t ring_mask;                      /* a power of two, less 1 */
    int64_t first_in_flight, end_in_flight; /* batch numbers */
    int64_t num_ready;                      /* complete batches in flight */
    int64_t next_epoch, next_step;          /* place of the next batch to start */

    pfd_slot *free_slots;
    int32_t num_slots, num_held;
    int32_t slots_made;      /* numbers of slots below it are taken */
    int64_t stream_bytes;    /* bytes of records in all slots' scratch */
    int64_t ragged_bytes;    /* bytes of values, present or expected, in slots, and of all arenas */
    int64_t most_values;     /* bytes of the largest values of a batch so far; -1: no batch yet */
    pfd_arenas *free_arenas;

    int32_t producing;    /* the producer of a stream runs, and goes on while the ring has room */
    int32_t seek_streams; /* the producer must seek first */
    pfd_loop producer;    /* reads the records of one batch, into: */
    pfd_slot *produced;

    pfd_error *skipped; /* the errors of skipped records: the last PFD_KEPT_SKIPPED, as a ring */
    int64_t num_skipped;
    pfd_counters counters;
    pfd_traces traces;
    pfd_tuning *tuning; /* NULL: nothing is tuned */
};

/* Whether close() has started: uses are refused, and those inside must end soon. */
static inline int32_t pfd_loader_is_closing(const pfd_loader *loader)
{
    return (atomic_load(&loader->lease.calls) & PFD_LEASE_CLOSING) != 0;
}

/* The threads, for those who watch; NULL: there are none any more.  With `lock` held. */
static inline pfd_threads *pfd_loader_threads(pfd_loader *loader)
{
    return loader->closed || !loader->threads.pool ? NULL : &loader->threads;
}

/* The first step from this one on that the loader delivers. */
static inline int64_t pfd_loader_own_step(const pfd_loader *loader, int64_t step)
{
    int64_t over = step % loader->num_shares;
    return step - over + loader->share + (over > loader->share ? loader->num_shares : 0);
}
#endif
