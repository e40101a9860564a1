/* A pool that lives for one loop. */
#include "core/parallel_for.h"

#include "core/error.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct run {
    pthread_mutex_t lock;
    pthread_cond_t finished;
    int32_t done;
} run;

static void finish(void *ctx)
{
    run *self = ctx;
    pthread_mutex_lock(&self->lock);
    self->done = 1;
    pthread_cond_signal(&self->finished);
    pthread_mutex_unlock(&self->lock);
}

/* The context of the loop's function: the caller's context and ours. */
typedef struct work {
    run run; /* first: done() gets it */
    pfd_loop_fn fn;
    void *ctx;
} work;

static pfd_status call(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    const work *self = ctx;
    return self->fn(self->ctx, begin, end, worker, err);
}

pfd_status pfd_parallel_for(int32_t num_threads, int64_t n, int64_t chunk, pfd_loop_fn fn,
                            void *ctx, pfd_error *err)
{
    pfd_thread_pool *pool = NULL;
    int64_t chunks = (n + chunk - 1) / chunk;
    if (num_threads > chunks) num_threads = (int32_t)chunks;
    int32_t others = num_threads - 1;
    if (others < 1 || pfd_thread_pool_create(others, others, &pool, err) != PFD_OK) {
        pfd_error_clear(err);
        return pfd_single_thread_loop(n, chunk, fn, ctx, 0, err);
    }
    work self = {.fn = fn, .ctx = ctx};
    pthread_mutex_init(&self.run.lock, NULL);
    pthread_cond_init(&self.run.finished, NULL);
    pfd_loop loop = {.n = n, .chunk = chunk, .fn = call, .done = finish, .ctx = &self};
    pfd_multi_thread_loop(pool, &loop);
    while (pfd_thread_pool_help(pool, &loop)) continue;
    pthread_mutex_lock(&self.run.lock);
    while (!self.run.done) pthread_cond_wait(&self.run.finished, &self.run.lock);
    pthread_mutex_unlock(&self.run.lock);
    pfd_thread_pool_free(pool);
    pthread_cond_destroy(&self.run.finished);
    pthread_mutex_destroy(&self.run.lock);
    if (loop.status != PFD_OK) {
        if (loop.error)
            pfd_error_copy(err, loop.error);
        else
            (void)pfd_fail_memory(err, (int64_t)sizeof *err, "an error's text");
    }
    free(loop.error);
    return loop.status;
}
