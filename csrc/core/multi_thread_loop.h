/* core/multi_thread_loop.h -- a pool of threads, and the one thing it runs: loops.
 *
 * A loop is a range [0, n) and a function over pieces of it.  Loops are served first come, first
 * served; threads take chunks as they get free; whoever waits for a loop works on it.
 *
 * THREADS  Everything here may be called from any thread.  A loop started or run from inside a
 *          loop's function of the same pool runs inline, so nesting cannot deadlock.
 * ERRORS   When pieces fail, the failure with the lowest begin is the loop's: failures repeat.
 *          After one failure, chunks above it are not begun; chunks below it are.
 */
#ifndef PFD_CORE_MULTI_THREAD_LOOP_H
#define PFD_CORE_MULTI_THREAD_LOOP_H
#include "pyflowdata/op.h"
#include <stdatomic.h>

typedef struct pfd_thread_pool pfd_thread_pool;

/* Does [begin, end) of a loop.  `worker` is in [0, num_threads] and at any time in use by one thread
 * only: index per-thread memory by it.  num_threads is the index of the helping caller. */
typedef pfd_status (*pfd_loop_fn)(void *ctx, int64_t begin, int64_t end, int32_t worker,
                                  pfd_error *err);

/* A loop in flight.  The memory is the caller's and must stay until done() was called or a wait
 * returned.  Fill in the first block, zero the rest. */
typedef struct pfd_loop {
    int64_t n;        /* >= 0 */
    int64_t chunk;    /* items a piece, >= 1 */
    pfd_loop_fn fn;
    void (*done)(void *ctx); /* optional: after the last piece, on the thread that did it; the pool
                                touches the loop no more once done() is called */
    void *ctx;

    /* The pool's own. */
    struct pfd_loop *next_loop;
    _Atomic int64_t next_item;
    _Atomic int64_t items_left;
    _Atomic int64_t failed_begin; /* INT64_MAX: none */
    pfd_status status;
    pfd_error error;              /* of the failure at failed_begin */
} pfd_loop;
#endif
