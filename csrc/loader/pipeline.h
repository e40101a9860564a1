/* loader/pipeline.h -- the ring of batches in flight.
 *
 *   free slots ─► begun: a loop over the rows ─► ready ─► delivered, in order ─► released ─► free
 *
 * Where ops need the whole batch, or blobs are ragged, further loops follow the first one, each
 * when the one before has ended (batch_stages.c).
 *
 * Batches are begun by next(), a few at a time, and filled by the pool's threads and by whoever
 * waits in next(). In random access nothing else is needed: which records a batch has is
 * arithmetic. Where a reader is a stream, a second loop ("filling") reads one batch after the other
 * on any one thread, and begins the loop over its rows.
 *
 * LOCKS  consumer: one next(), seek() or close() at a time. lock: everything that says so below.
 *        Order: consumer, lock, the pool's.
 *
 * OWNERSHIP  The loader owns its slots until it is released and every delivered one has come back:
 *            what comes last frees it.
 * ERRORS     A batch keeps its failure until its turn; failures come in the order of batches.
 */
#ifndef PFD_LOADER_PIPELINE_H
#define PFD_LOADER_PIPELINE_H
#include "loader/kernel_chain.h"

#include <pthread.h>

struct pfd_loader {
    pfd_plan plan;
    pfd_thread_pool *pool;
    pfd_worker *workers; /* num_threads + 1: the last is the helping caller's */
    int32_t num_threads, prefetch;
    int64_t memory_budget;
    int32_t fork_generation;

    pthread_mutex_t consumer; /* one next(), seek() or close() at a time; guards: */
    int64_t epoch, step;      /* of the next batch to deliver */
    int64_t errors_in_epoch;
    int32_t restart; /* what is in flight is not what comes next */
    int64_t next_check_ns; /* when to look at the files again */

    pthread_mutex_t lock;                   /* guards: */
    pthread_cond_t changed;                 /* a slot is ready, or filling has ended */
    pfd_slot **ring;                        /* batch number t is at t % prefetch */
    int64_t first_in_flight, end_in_flight; /* batch numbers */
    int64_t begun_epoch, begun_step;        /* of the next batch to begin */
    pfd_slot *free_slots;
    int32_t num_slots, num_held;
    int64_t stream_bytes; /* of records in all slots' scratch */
    int64_t ragged_bytes; /* of values in all slots, there or expected, and of all arenas */
    int64_t most_values;  /* of a batch so far, in bytes; -1: there was none yet */
    pfd_arenas *free_arenas;
    int32_t filling;      /* the filling loop runs, and goes on while the ring has room */
    int32_t seek_streams; /* filling begins with a seek */
    pfd_loop fill_loop;
    pfd_slot *fill_slot;
    int32_t closed, released;
    pfd_stats stats;
    pfd_error *skipped; /* a circle of PFD_KEPT_SKIPPED */
    int64_t num_skipped;

    pfd_bounds bounds; /* cancelled: row loops end early */
};

#define PFD_KEPT_SKIPPED 1000

/* Allocates the slots that are in use while the user holds one batch or two, and starts the
 * threads. A failure leaves a loader that close() accepts. */
pfd_status pfd_pipeline_open(pfd_loader *loader, pfd_error *err);
/* Ends the threads, and frees what no delivered batch needs. Repeatable. */
void pfd_pipeline_close(pfd_loader *loader);

/* Both with `consumer` held; PFD_PENDING once pfd_clock_ns() has passed the deadline. */
pfd_status pfd_pipeline_next(pfd_loader *loader, int64_t deadline_ns, pfd_batch *out,
                             pfd_error *err);
/* Throws away what is in flight, and goes on at (loader->epoch, loader->step). */
pfd_status pfd_pipeline_restart(pfd_loader *loader, int64_t deadline_ns, pfd_error *err);

/* Brings loader->stats up to date; with `lock` held. */
void pfd_pipeline_count(pfd_loader *loader);

/* Between pipeline.c, stream_filling.c and batch_stages.c, with `lock` held. */
pfd_slot *pfd_pipeline_add_slot(pfd_loader *loader); /* at the ring's end; NULL: none to be had */
void pfd_pipeline_mark_ready(pfd_loader *loader, pfd_slot *slot);
/* batch_stages.c: begins the loops over the slot's rows, which end with mark_ready(). */
void pfd_pipeline_begin_rows(pfd_loader *loader, pfd_slot *slot);
pfd_loop *pfd_slot_loop(pfd_slot *slot); /* the one at hand */
/* stream_filling.c: whether the batch of a loop that ended is passed over, and the following one comes
 * next: a record of it is damaged.  Any lock. */
int32_t pfd_loop_can_pass(const pfd_loop *loop);
/* Fills slot after slot on the pool, until the ring is full. */
void pfd_begin_filling(pfd_loader *loader);

/* slot_pool.c, all but give_back with `lock` held. A new slot needs memory and budget. */
int32_t pfd_slot_pool_grow(pfd_loader *loader);             /* 0: out of memory */
int32_t pfd_slot_pool_has_budget(const pfd_loader *loader); /* for one slot more */
pfd_slot *pfd_slot_pool_take(pfd_loader *loader);           /* NULL: nothing to be had */
void pfd_slot_pool_put(pfd_loader *loader, pfd_slot *slot);
void pfd_slot_pool_count_scratch(pfd_loader *loader, pfd_slot *slot);  /* after filling */
int32_t pfd_slot_pool_take_arenas(pfd_loader *loader, pfd_slot *slot); /* 0: out of memory */
void pfd_slot_pool_put_arenas(pfd_loader *loader, pfd_slot *slot);
void pfd_slot_pool_free_arenas(pfd_loader *loader);
/* The values have been allocated anew, or dropped; used_bytes: of them in this batch. */
void pfd_slot_pool_count_values(pfd_loader *loader, pfd_slot *slot, int64_t used_bytes);
/* Gives a delivered slot back. Returns 1 when it was the last thing that kept a released loader. */
int32_t pfd_slot_pool_give_back(pfd_slot *slot);
#endif
