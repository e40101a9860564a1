/* Periods of a loader: what is counted between two deliveries goes to the search, and what it finds
 * to the pool and the ring. */
#include "loader/tuning.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/multi_thread_loop.h"
#include "loader/defaults.h"
#include "loader/ring.h"
#include "loader/trace.h"

#include <stdlib.h>

#define PERIOD_NS INT64_C(100000000)
#define PAUSE_NS INT64_C(1000000000) /* of the program, longer than what batches ahead are for */

/* A period has so many steps, or row ranges, or it goes on: fewer tell too little. */
enum { LEAST_STEPS = 4, LEAST_CHUNKS = 64 };
enum { MOST_SAMPLED = 8 /* threads that the kernel is asked about */ };

pfd_status pfd_tuning_open(pfd_loader *l, pfd_error *err)
{
    if (!l->tunes_threads && !l->tunes_prefetch) return PFD_OK;
    l->tuning = calloc(1, sizeof *l->tuning);
    if (!l->tuning) return pfd_fail_memory(err, sizeof *l->tuning, "the loader's history");
    pfd_tune_bounds bounds = {.tunes_threads = l->tunes_threads,
                              .tunes_prefetch = l->tunes_prefetch,
                              .num_processors = pfd_cpu_count(),
                              .usual_threads = l->num_threads,
                              .most_threads = l->most_threads,
                              .prefetch = l->chooses_prefetch ? 0 : l->prefetch,
                              .most_prefetch = (int32_t)l->most_prefetch,
                              .usual_prefetch = pfd_usual_prefetch,
                              .plan = &l->plan};
    pfd_autotune_open(&l->tuning->tuner, &bounds);
    return PFD_OK;
}

/* ---- Measuring (consumer and lock held, unless a comment says otherwise) --------------------- */

void pfd_tuning_restart(pfd_loader *l)
{
    if (!l->tuning) return;
    l->tuning->is_measuring = 0;
    l->tuning->due_ns = 0;
}

/* Threads that the kernel is asked about: the first ones, which are like the others. */
static int32_t num_sampled(int32_t num_threads)
{
    return num_threads < MOST_SAMPLED ? num_threads : MOST_SAMPLED;
}

/* Time that they computed, or could have. Without `lock`: it takes files to open. */
static int64_t used_ns(const pfd_loader *l, int32_t num_threads)
{
    pfd_thread_usage usage = {0};
    for (int32_t i = 0; i < num_sampled(num_threads); i++)
        pfd_thread_usage_add_times(pfd_thread_pool_system_id(l->pool, i), &usage);
    return usage.cpu_ns + usage.runnable_ns;
}

/* The first batches of epochs are made ahead as any other, where there was no seek. */
static int64_t all_steps(const pfd_steps *steps)
{
    return steps->steps + steps->starts;
}

static int64_t all_wait_ns(const pfd_steps *steps)
{
    return steps->wait_ns + steps->start_ns;
}

static void begin_period(pfd_loader *l, int64_t now_ns, int64_t threads_used_ns)
{
    pfd_tuning *tuning = l->tuning;
    pfd_pool_counts counts = pfd_thread_pool_counts(l->pool);
    tuning->is_measuring = 1;
    tuning->begin_ns = now_ns;
    tuning->due_ns = now_ns + PERIOD_NS;
    tuning->num_chunks = counts.num_chunks;
    tuning->thread_ns = counts.thread_ns;
    tuning->idle_ns = counts.idle_ns;
    tuning->steps = all_steps(&l->steps);
    tuning->wait_ns = all_wait_ns(&l->steps);
    tuning->train_ns = l->steps.train_ns;
    tuning->batches_made = l->stats.batches_made;
    tuning->no_memory_ns = l->stats.no_memory_ns;
    tuning->used_ns = threads_used_ns;
    l->steps.longest_train_ns = 0;
    l->was_full = 0;
}

static double share(int64_t part, int64_t whole)
{
    if (whole <= 0 || part <= 0) return 0;
    return part < whole ? (double)part / (double)whole : 1;
}

/* Returns 0 if the period goes on, or tells nothing. */
static int32_t end_period(const pfd_loader *l, int64_t now_ns, int64_t threads_used_ns,
                          pfd_tune_period *out)
{
    const pfd_tuning *tuning = l->tuning;
    const pfd_steps *steps = &l->steps;
    pfd_pool_counts counts = pfd_thread_pool_counts(l->pool);
    int64_t chunks = counts.num_chunks - tuning->num_chunks, ns = now_ns - tuning->begin_ns;
    int64_t num_steps = all_steps(steps) - tuning->steps;
    if (num_steps < 1 || (num_steps < LEAST_STEPS && chunks < LEAST_CHUNKS)) return 0;
    int64_t wait_ns = all_wait_ns(steps) - tuning->wait_ns;
    int64_t train_ns = steps->train_ns - tuning->train_ns;
    *out = (pfd_tune_period){
        .end_ns = now_ns,
        .ranges_per_s = (double)chunks * 1e9 / (double)ns,
        .batches_per_s = (double)(l->stats.batches_made - tuning->batches_made) * 1e9 / (double)ns,
        .wait = share(wait_ns, wait_ns + train_ns),
        .idle = share(counts.idle_ns - tuning->idle_ns, counts.thread_ns - tuning->thread_ns),
        .is_full = l->was_full,
        .has_memory = !l->no_memory_since_ns && l->stats.no_memory_ns == tuning->no_memory_ns};
    double used = share(threads_used_ns - tuning->used_ns, num_sampled(l->num_threads) * ns);
    out->blocked = out->idle + used < 1 ? 1 - out->idle - used : 0;
    return 1;
}

static int32_t was_paused(const pfd_loader *l, int64_t now_ns)
{
    int64_t pause_ns = l->steps.longest_train_ns;
    return pause_ns > PAUSE_NS && 2 * pause_ns > now_ns - l->tuning->begin_ns;
}

/* ---- Adjusting (consumer held) --------------------------------------------------------------- */

/* Opens workers for so many threads. Returns for how many there are some. */
static int32_t open_workers(pfd_loader *l, int32_t wanted)
{
    int32_t n = l->num_workers;
    while (n < wanted && pfd_worker_open(&l->plan, &l->workers[n])) n++;
    if (n < wanted) pfd_worker_close(&l->plan, &l->workers[n]);
    pthread_mutex_lock(&l->lock);
    l->num_workers = n > l->num_workers ? n : l->num_workers;
    pfd_trace_add_threads(l);
    pthread_mutex_unlock(&l->lock);
    return n < wanted ? n : wanted;
}

void pfd_tuning_apply(pfd_loader *l, int32_t num_threads, int32_t prefetch)
{
    int32_t wanted = num_threads;
    if (num_threads != l->num_threads)
        num_threads = pfd_thread_pool_set_threads(l->pool, open_workers(l, num_threads));
    int64_t threads_used_ns = used_ns(l, num_threads);
    pthread_mutex_lock(&l->lock);
    if (num_threads < wanted) pfd_autotune_limit(&l->tuning->tuner, num_threads);
    l->num_threads = num_threads;
    l->prefetch = prefetch;
    begin_period(l, pfd_clock_ns(), threads_used_ns);
    pthread_mutex_unlock(&l->lock);
}

void pfd_tuning_run(pfd_loader *l)
{
    pfd_tuning *tuning = l->tuning;
    pfd_tune_period period;
    int32_t changed = 0;
    int64_t threads_used_ns = used_ns(l, l->num_threads);
    pthread_mutex_lock(&l->lock);
    int64_t now_ns = pfd_clock_ns();
    if (!tuning->is_measuring || was_paused(l, now_ns)) {
        begin_period(l, now_ns, threads_used_ns);
    } else if (end_period(l, now_ns, threads_used_ns, &period)) {
        changed = pfd_autotune_step(&tuning->tuner, &period);
        if (!changed) begin_period(l, now_ns, threads_used_ns);
    }
    pthread_mutex_unlock(&l->lock);
    if (changed) pfd_tuning_apply(l, tuning->tuner.num_threads, tuning->tuner.prefetch);
}

/* ---- For whoever asks ------------------------------------------------------------------------ */

pfd_status pfd_loader_get_tuning(const pfd_loader *loader, pfd_tuning_info *out)
{
    pfd_loader *l = pfd_loader_writable(loader);
    if (pfd_loader_is_foreign(l)) return PFD_UNSUPPORTED;
    if (!l->tuning) return PFD_END;
    const pfd_autotune *tuner = &l->tuning->tuner;
    pthread_mutex_lock(&l->lock);
    *out = (pfd_tuning_info){.struct_size = sizeof *out,
                             .state = tuner->state,
                             .tunes_threads = l->tunes_threads,
                             .tunes_prefetch = l->tunes_prefetch,
                             .num_threads = l->num_threads,
                             .prefetch = l->prefetch,
                             .most_threads = tuner->bounds.most_threads,
                             .most_prefetch = tuner->bounds.most_prefetch,
                             .num_decisions = tuner->num_decisions,
                             .wait = tuner->wait,
                             .idle = tuner->idle,
                             .blocked = tuner->blocked};
    pthread_mutex_unlock(&l->lock);
    return PFD_OK;
}

pfd_status pfd_loader_get_decision(const pfd_loader *loader, int64_t i, pfd_decision *out)
{
    pfd_loader *l = pfd_loader_writable(loader);
    if (pfd_loader_is_foreign(l)) return PFD_UNSUPPORTED;
    if (!l->tuning) return PFD_END;
    const pfd_autotune *tuner = &l->tuning->tuner;
    pthread_mutex_lock(&l->lock);
    int64_t made = tuner->num_decisions;
    int64_t first = made > PFD_KEPT_DECISIONS ? made - PFD_KEPT_DECISIONS : 0;
    pfd_status status = i >= 0 && first + i < made ? PFD_OK : PFD_END;
    if (status == PFD_OK) *out = tuner->decisions[(first + i) % PFD_KEPT_DECISIONS];
    pthread_mutex_unlock(&l->lock);
    return status;
}
