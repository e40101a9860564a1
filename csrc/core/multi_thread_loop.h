/* core/multi_thread_loop.h -- a pool of threads that runs loops.
 *
 * A loop is a range [0, n) and a function over pieces of it. Loops are served first come, first
 * served; a free thread takes the next chunk; a thread that waits for a loop works on it.
 *
 * OWNERSHIP  A loop's memory is the caller's, and must stay until done() is called or the pool is
 *            freed.
 * THREADS    Everything here may be called from any thread.
 * ERRORS     Chunks start in ascending order. After a failure no further chunk starts; of those
 *            that fail, the one with the lowest begin is the loop's failure, so that failures are
 *            reproducible.
 */
#ifndef PFD_CORE_MULTI_THREAD_LOOP_H
#define PFD_CORE_MULTI_THREAD_LOOP_H
#include "core/scratch.h"

/* ---- What the kernel counted for a thread ---------------------------------------------------- */

/* From /proc.  Any thread may ask about any other thread of this process that runs. */
typedef struct pfd_thread_usage {
    int64_t cpu_ns;       /* computed */
    int64_t runnable_ns;  /* could have computed, and waited for a processor */
    int64_t major_faults; /* pages of files that were waited for */
} pfd_thread_usage;

int32_t pfd_thread_system_id(void); /* number of the calling thread */

/* Adds the numbers of a thread to *usage; those that the kernel does not tell stay as they are. */
void pfd_thread_usage_add(int32_t system_id, pfd_thread_usage *usage);
void pfd_thread_usage_add_times(int32_t system_id, pfd_thread_usage *usage); /* without faults */

/* ---- The pool -------------------------------------------------------------------------------- */

typedef struct pfd_thread_pool pfd_thread_pool;

/* Does items [begin, end). `worker` is in [0, most_threads], and in use by one thread at a time:
 * data indexed by it needs no lock. most_threads is the calling thread that helps. */
typedef pfd_status (*pfd_loop_fn)(void *ctx, int64_t begin, int64_t end, int32_t worker,
                                  pfd_error *err);

typedef struct pfd_loop {
    int64_t n;     /* items, >= 1 */
    int64_t chunk; /* items at a time, >= 1 */
    pfd_loop_fn fn;
    void (*done)(void *ctx); /* after the last chunk, on the thread that did it; from then on the
                                pool does not touch the loop, and it may be started again */
    void *ctx;

    pfd_status status; /* for done(): PFD_OK, or the failure in `error` */
    pfd_error *error;  /* NULL where there was no failure, or no memory for it; the caller frees */

    /* The pool's own, under its lock. */
    struct pfd_loop *following;
    int64_t next_item, items_left, failed_begin;
} pfd_loop;

/* Counted since the pool was made. */
typedef struct pfd_pool_counts {
    int64_t num_chunks; /* started, also by callers that help */
    int64_t thread_ns;  /* summed over threads: how long each was one of those that work */
    int64_t idle_ns;    /* the part of this time without work, also of threads that wait now */
} pfd_pool_counts;

/* Makes a pool in which num_threads work at first, and up to most_threads may work later. */
pfd_status pfd_thread_pool_create(int32_t num_threads, int32_t most_threads,
                                  const pfd_bounds *bounds, pfd_thread_pool **out, pfd_error *err);

/* Lets `num_threads` threads work, at most most_threads of them.  Those that have not run before
 * are started; those that are too many end their current chunk, and wait.  One call at a time.
 * Returns how many threads work: fewer than num_threads where the system gives no more. */
int32_t pfd_thread_pool_set_threads(pfd_thread_pool *pool, int32_t num_threads);

/* Ends the threads, each after its current chunk. Loops that are not finished never will be.
 * Accepts NULL. */
void pfd_thread_pool_free(pfd_thread_pool *pool);

/* Starts a loop and returns. Wakes as many idle threads as the work needs. */
void pfd_multi_thread_loop(pfd_thread_pool *pool, pfd_loop *loop);

/* The same, ahead of the loops started before: for the next step of work in progress. */
void pfd_multi_thread_loop_first(pfd_thread_pool *pool, pfd_loop *loop);

/* Runs one chunk of a started loop on the calling thread, as worker most_threads: one caller at a
 * time. Returns 0 when no chunk is left. */
int32_t pfd_thread_pool_help(pfd_thread_pool *pool, pfd_loop *loop);

/* Runs a function over [0, n), `chunk` items at a time, on the calling thread, under the number of
 * a worker that no other thread has.  Ends with the first failure. */
pfd_status pfd_single_thread_loop(int64_t n, int64_t chunk, pfd_loop_fn fn, void *ctx,
                                  int32_t worker, pfd_error *err);

/* Whether the calling thread is inside a chunk, of any pool: it must not wait for that pool. */
int32_t pfd_thread_pool_is_inside(void);

pfd_pool_counts pfd_thread_pool_counts(pfd_thread_pool *pool);

/* Since when thread i waits for work, on the monotonic clock; 0: it does not. */
int64_t pfd_thread_pool_idle_since_ns(pfd_thread_pool *pool, int32_t i);

/* From now on, each thread that has waited for work calls on_idle(ctx, thread, begin_ns, end_ns),
 * with the pool's lock held; NULL: nothing. */
typedef void (*pfd_idle_fn)(void *ctx, int32_t i, int64_t begin_ns, int64_t end_ns);
void pfd_thread_pool_on_idle(pfd_thread_pool *pool, pfd_idle_fn on_idle, void *ctx);

/* Each thread of any pool calls on_end() before it ends.  Set before the first pool is made. */
void pfd_thread_pools_on_end(void (*on_end)(void));

/* The kernel's number of thread i; 0: it has not run yet. */
int32_t pfd_thread_pool_system_id(const pfd_thread_pool *pool, int32_t i);

/* ---- A loop on threads of its own ------------------------------------------------------------ */

/* For work done once: runs fn over [0, n), `chunk` items at a time, on num_threads threads.  The
 * calling thread is one of them; `worker` is below num_threads.  With one thread, or one chunk,
 * everything runs on the caller.  Where a thread cannot be started, fewer threads do the work. */
pfd_status pfd_parallel_for(int32_t num_threads, int64_t n, int64_t chunk, pfd_loop_fn fn,
                            void *ctx, pfd_error *err);
#endif
