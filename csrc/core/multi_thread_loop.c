/* The pool has one queue of loops; a thread takes the queue's lock once per chunk.
 *
 * Waking a thread costs more than a small chunk: two threads that take turns at half a microsecond
 * of work burn twice the time of one. So another thread is woken only when enough work waits, by
 * the measured time of a chunk. */
#include "core/multi_thread_loop.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/system_calls.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- What the kernel counted for a thread ---------------------------------------------------- */

int32_t pfd_thread_system_id(void)
{
    return (int32_t)syscall(SYS_gettid);
}

/* Reads a file of a thread as text, cut to the room for it; "" where it cannot be read. */
static void read_text(int32_t system_id, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%" PRId32 "/%s", system_id, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, room - 1);
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0) (void)close(fd);
}

/* The kernel's Documentation/scheduler/sched-stats.rst: time on a processor, time waiting for one,
 * in ns, and a count. */
void pfd_thread_usage_add_times(int32_t system_id, pfd_thread_usage *usage)
{
    char text[128];
    int64_t cpu_ns, runnable_ns;
    read_text(system_id, "schedstat", text, sizeof text);
    if (sscanf(text, "%" SCNd64 " %" SCNd64, &cpu_ns, &runnable_ns) != 2) return;
    usage->cpu_ns += cpu_ns;
    usage->runnable_ns += runnable_ns;
}

/* proc(5): after the name, which is in parentheses and may have any characters, majflt is the tenth
 * field. */
static void add_faults(int32_t system_id, pfd_thread_usage *usage)
{
    char text[512];
    int64_t faults;
    read_text(system_id, "stat", text, sizeof text);
    const char *after = strrchr(text, ')');
    if (after && sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %" SCNd64, &faults) == 1)
        usage->major_faults += faults;
}

void pfd_thread_usage_add(int32_t system_id, pfd_thread_usage *usage)
{
    pfd_thread_usage_add_times(system_id, usage);
    add_faults(system_id, usage);
}

/* ---- The pool -------------------------------------------------------------------------------- */

enum {
    WORTH_A_WAKE_NS = 20 * 1000, /* time of waiting work, for each running thread */
    SAMPLE_EVERY = 8,            /* chunks; a power of two */
};

typedef struct pool_thread {
    pfd_thread_pool *pool;
    pthread_t thread;
    int32_t index;
    _Atomic int32_t system_id;
    int64_t idle_since_ns; /* 0: it has work; under the pool's lock */
} pool_thread;

static _Thread_local int32_t chunks_inside; /* more than one: a chunk that waits for a loop */

int32_t pfd_thread_pool_is_inside(void)
{
    return chunks_inside > 0;
}

struct pfd_thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t work; /* a loop was started, or threads are too many, or the pool stops */
    pthread_cond_t more; /* more threads may work, or the pool stops */
    pfd_loop *first, *last;
    int64_t waiting_chunks;
    int64_t chunk_ns; /* recent average */
    int64_t num_chunks;
    int64_t idle_ns;
    int32_t idle;  /* threads that wait and were not signalled */
    int32_t woken; /* signalled, not running yet */
    int32_t stop;
    const pfd_bounds *bounds; /* borrowed; may be NULL */
    int32_t num_threads; /* that work: the first ones of those started */
    int32_t num_started, most_threads;
    int64_t thread_ns, since_ns; /* thread_ns: until since_ns, when num_threads changed last */
    pfd_idle_fn on_idle; /* NULL: none */
    void *on_idle_ctx;
    pool_thread workers[];
};

static void remove_loop(pfd_thread_pool *pool, const pfd_loop *loop)
{
    pfd_loop *before = NULL;
    for (pfd_loop *at = pool->first; at; before = at, at = at->following) {
        if (at != loop) continue;
        if (before)
            before->following = at->following;
        else
            pool->first = at->following;
        if (pool->last == at) pool->last = before;
        return;
    }
}

static void wake(pfd_thread_pool *pool)
{
    while (pool->idle > 0) {
        int64_t awake = pool->num_threads - pool->idle;
        if (pool->waiting_chunks == 0) return;
        if (awake > 0 && pool->waiting_chunks * pool->chunk_ns < awake * WORTH_A_WAKE_NS) return;
        pool->idle--;
        pool->woken++;
        pthread_cond_signal(&pool->work);
    }
}

static int64_t chunks_left(const pfd_loop *loop)
{
    return (loop->n - loop->next_item + loop->chunk - 1) / loop->chunk;
}

/* Takes the next chunk; a loop leaves the queue with its last one. */
static int64_t take_chunk(pfd_thread_pool *pool, pfd_loop *loop, int64_t *end)
{
    int64_t begin = loop->next_item;
    *end = loop->n - begin > loop->chunk ? begin + loop->chunk : loop->n;
    loop->next_item = *end;
    pool->waiting_chunks--;
    if (*end == loop->n) remove_loop(pool, loop);
    return begin;
}

static void note_failure(pfd_thread_pool *pool, pfd_loop *loop, int64_t begin, pfd_status status,
                         const pfd_error *err)
{
    if (loop->status == PFD_OK) { /* no further chunk starts */
        loop->items_left -= loop->n - loop->next_item;
        pool->waiting_chunks -= chunks_left(loop);
        if (loop->next_item < loop->n) remove_loop(pool, loop);
        loop->next_item = loop->n;
    } else if (loop->failed_begin < begin) {
        return;
    }
    loop->failed_begin = begin;
    loop->status = status;
    if (!loop->error) loop->error = malloc(sizeof *loop->error);
    if (loop->error) *loop->error = *err;
}

/* Runs one chunk. The lock is held on entry and on return, and released in between. */
static void do_chunk(pfd_thread_pool *pool, pfd_loop *loop, int32_t index)
{
    int64_t end, begin = take_chunk(pool, loop, &end);
    int32_t sample = pool->num_chunks++ % SAMPLE_EVERY == 0;
    wake(pool);
    pthread_mutex_unlock(&pool->lock);
    pfd_error err;
    pfd_error_init(&err);
    int64_t since = sample ? pfd_clock_ns() : 0;
    chunks_inside++;
    pfd_status status = loop->fn(loop->ctx, begin, end, index, &err);
    chunks_inside--;
    int64_t taken_ns = sample ? pfd_clock_ns() - since : 0;
    pthread_mutex_lock(&pool->lock);
    if (sample) pool->chunk_ns += (taken_ns - pool->chunk_ns) / 4;
    if (status != PFD_OK) note_failure(pool, loop, begin, status, &err);
    loop->items_left -= end - begin;
    if (loop->items_left > 0) return;
    pthread_mutex_unlock(&pool->lock);
    loop->done(loop->ctx);
    pthread_mutex_lock(&pool->lock);
}

static int32_t may_work(const pool_thread *self)
{
    return self->index < self->pool->num_threads;
}

/* Waits for work. A thread that is one too many leaves a signal to the others, if there are any:
 * all look for signals when threads become too many. */
static void wait_for_work(pfd_thread_pool *pool, pool_thread *self)
{
    self->idle_since_ns = pfd_clock_ns();
    pool->idle++;
    while (!pool->woken && !pool->stop && may_work(self))
        pthread_cond_wait(&pool->work, &pool->lock);
    if (pool->woken && (may_work(self) || pool->idle == 0))
        pool->woken--;
    else
        pool->idle--;
    int64_t since_ns = self->idle_since_ns, now_ns = pfd_clock_ns();
    self->idle_since_ns = 0;
    pool->idle_ns += now_ns - since_ns;
    if (pool->on_idle) pool->on_idle(pool->on_idle_ctx, self->index, since_ns, now_ns);
}

static void (*on_thread_end)(void); /* NULL: nothing */

void pfd_thread_pools_on_end(void (*on_end)(void))
{
    on_thread_end = on_end;
}

static void *work(void *argument)
{
    pool_thread *self = argument;
    pfd_thread_pool *pool = self->pool;
    atomic_store(&self->system_id, pfd_thread_system_id());
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        if (!may_work(self))
            pthread_cond_wait(&pool->more, &pool->lock);
        else if (pool->first)
            do_chunk(pool, pool->first, self->index);
        else
            wait_for_work(pool, self);
    }
    pthread_mutex_unlock(&pool->lock);
    if (on_thread_end) on_thread_end();
    return NULL;
}

/* Signals belong to the threads of the program, not to ours, except those that a fault raises. */
static int start_thread(pool_thread *self)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pfd_sys_thread(self->pool->bounds, &self->thread, work, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

/* Starts the threads below `wanted` that do not run yet; returns 0, or the errno of a failure. */
static int start_threads(pfd_thread_pool *pool, int32_t wanted)
{
    while (pool->num_started < wanted) {
        pool_thread *next = &pool->workers[pool->num_started];
        next->pool = pool;
        next->index = pool->num_started;
        int failure = start_thread(next);
        if (failure) return failure;
        pool->num_started++;
    }
    return 0;
}

int32_t pfd_thread_pool_set_threads(pfd_thread_pool *pool, int32_t num_threads)
{
    (void)start_threads(pool, num_threads);
    if (num_threads > pool->num_started) num_threads = pool->num_started;
    pthread_mutex_lock(&pool->lock);
    int64_t now_ns = pfd_clock_ns();
    pool->thread_ns += pool->num_threads * (now_ns - pool->since_ns);
    pool->since_ns = now_ns;
    pool->num_threads = num_threads;
    pthread_cond_broadcast(&pool->work);
    pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
    return num_threads;
}

pfd_status pfd_thread_pool_create(int32_t num_threads, int32_t most_threads,
                                  const pfd_bounds *bounds, pfd_thread_pool **out, pfd_error *err)
{
    size_t bytes = sizeof(pfd_thread_pool) + (size_t)most_threads * sizeof(pool_thread);
    pfd_thread_pool *pool = calloc(1, bytes);
    if (!pool) return pfd_fail_memory(err, (int64_t)bytes, "the thread pool");
    pool->chunk_ns = WORTH_A_WAKE_NS; /* until one is measured */
    pool->most_threads = most_threads;
    pool->bounds = bounds;
    pool->since_ns = pfd_clock_ns();
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->more, NULL);
    int failure = start_threads(pool, num_threads);
    if (failure) {
        (void)pfd_fail(err, PFD_OUT_OF_MEMORY,
                       "thread %d of num_threads = %d could not be started: %s",
                       pool->num_started + 1, num_threads, strerror(failure));
        (void)pfd_error_set_errno(err, failure);
        pfd_thread_pool_free(pool);
        return err->status;
    }
    (void)pfd_thread_pool_set_threads(pool, num_threads);
    *out = pool;
    return PFD_OK;
}

void pfd_thread_pool_free(pfd_thread_pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->work);
    pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->num_started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->more);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static void begin_loop(pfd_thread_pool *pool, pfd_loop *loop, int32_t is_first)
{
    pthread_mutex_lock(&pool->lock);
    loop->status = PFD_OK;
    loop->following = is_first ? pool->first : NULL;
    loop->next_item = 0;
    loop->items_left = loop->n;
    if (!pool->last)
        pool->first = pool->last = loop;
    else if (is_first)
        pool->first = loop;
    else
        pool->last = pool->last->following = loop;
    pool->waiting_chunks += chunks_left(loop);
    wake(pool);
    pthread_mutex_unlock(&pool->lock);
}

void pfd_multi_thread_loop(pfd_thread_pool *pool, pfd_loop *loop)
{
    begin_loop(pool, loop, 0);
}

void pfd_multi_thread_loop_first(pfd_thread_pool *pool, pfd_loop *loop)
{
    begin_loop(pool, loop, 1);
}

int32_t pfd_thread_pool_help(pfd_thread_pool *pool, pfd_loop *loop)
{
    pthread_mutex_lock(&pool->lock);
    int32_t found = loop->next_item < loop->n;
    if (found) do_chunk(pool, loop, pool->most_threads);
    pthread_mutex_unlock(&pool->lock);
    return found;
}

pfd_status pfd_single_thread_loop(int64_t n, int64_t chunk, pfd_loop_fn fn, void *ctx,
                                  int32_t index, pfd_error *err)
{
    pfd_status status = PFD_OK;
    chunks_inside++;
    for (int64_t begin = 0; begin < n && status == PFD_OK; begin += chunk)
        status = fn(ctx, begin, n - begin < chunk ? n : begin + chunk, index, err);
    chunks_inside--;
    return status;
}

pfd_pool_counts pfd_thread_pool_counts(pfd_thread_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    int64_t now_ns = pfd_clock_ns();
    pfd_pool_counts counts = {
        .num_chunks = pool->num_chunks,
        .thread_ns = pool->thread_ns + pool->num_threads * (now_ns - pool->since_ns),
        .idle_ns = pool->idle_ns,
    };
    for (int32_t i = 0; i < pool->num_threads; i++)
        if (pool->workers[i].idle_since_ns)
            counts.idle_ns += now_ns - pool->workers[i].idle_since_ns;
    pthread_mutex_unlock(&pool->lock);
    return counts;
}

int64_t pfd_thread_pool_idle_since_ns(pfd_thread_pool *pool, int32_t i)
{
    pthread_mutex_lock(&pool->lock);
    int64_t since_ns = pool->workers[i].idle_since_ns;
    pthread_mutex_unlock(&pool->lock);
    return since_ns;
}

void pfd_thread_pool_on_idle(pfd_thread_pool *pool, pfd_idle_fn on_idle, void *ctx)
{
    pthread_mutex_lock(&pool->lock);
    pool->on_idle = on_idle;
    pool->on_idle_ctx = ctx;
    pthread_mutex_unlock(&pool->lock);
}

int32_t pfd_thread_pool_system_id(const pfd_thread_pool *pool, int32_t i)
{
    return atomic_load(&pool->workers[i].system_id);
}

/* ---- A loop on threads of its own ------------------------------------------------------------ */

/* The context of the one loop of a pool: the caller's function, and whether the loop has ended. */
typedef struct single_run {
    pthread_mutex_t lock;
    pthread_cond_t finished;
    int32_t done;
    pfd_loop_fn fn;
    void *ctx;
} single_run;

static void finish(void *ctx)
{
    single_run *self = ctx;
    pthread_mutex_lock(&self->lock);
    self->done = 1;
    pthread_cond_signal(&self->finished);
    pthread_mutex_unlock(&self->lock);
}

static pfd_status call(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    const single_run *self = ctx;
    return self->fn(self->ctx, begin, end, worker, err);
}

pfd_status pfd_parallel_for(int32_t num_threads, int64_t n, int64_t chunk, pfd_loop_fn fn,
                            void *ctx, pfd_error *err)
{
    pfd_thread_pool *pool = NULL;
    int64_t chunks = (n + chunk - 1) / chunk;
    if (num_threads > chunks) num_threads = (int32_t)chunks;
    int32_t others = num_threads - 1;
    if (others < 1 || pfd_thread_pool_create(others, others, NULL, &pool, err) != PFD_OK) {
        pfd_error_clear(err);
        return pfd_single_thread_loop(n, chunk, fn, ctx, 0, err);
    }
    single_run self = {.fn = fn, .ctx = ctx};
    pthread_mutex_init(&self.lock, NULL);
    pthread_cond_init(&self.finished, NULL);
    pfd_loop loop = {.n = n, .chunk = chunk, .fn = call, .done = finish, .ctx = &self};
    pfd_multi_thread_loop(pool, &loop);
    while (pfd_thread_pool_help(pool, &loop)) continue;
    pthread_mutex_lock(&self.lock);
    while (!self.done) pthread_cond_wait(&self.finished, &self.lock);
    pthread_mutex_unlock(&self.lock);
    pfd_thread_pool_free(pool);
    pthread_cond_destroy(&self.finished);
    pthread_mutex_destroy(&self.lock);
    if (loop.status != PFD_OK) {
        if (loop.error)
            pfd_error_copy(err, loop.error);
        else
            (void)pfd_fail_memory(err, (int64_t)sizeof *err, "an error's text");
    }
    free(loop.error);
    return loop.status;
}
