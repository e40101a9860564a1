/* Trials of other numbers of threads and batches ahead, what is learned from them, and the periods
 * of a loader in which that is measured. */
#include "loader/watch/tuning.h"

#include "core/cpu.h"
#include "core/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In periods; those that are compared with weights are no enumerators, as compilers warn. */
#define LEAST_SAMPLES 3 /* before anything is concluded */
#define MOST_SAMPLES 32 /* after which a trial without a result has failed */
#define CALM 20         /* without waiting, before a thread is given back */
enum {
    BASE_PAUSE = 8,     /* after the first failure of a kind of trial */
    MOST_PAUSE = 1024,
    CONTENDED_PAUSE = 32, /* before fewer threads than usual are tried */
    CHANGE = 4,         /* periods that differ from those before: the load has changed */
    CHANGE_PAUSE = 16,  /* after such a change, before the next one counts */
};

static const double calm_wait = 0.01, some_wait = 0.02; /* shares of the time */
static const double mostly_idle = 0.25; /* from this part of the threads' time on, threads are not
                                           too few */
static const double some_blocked = 0.15; /* from this part of the busy time on, processors are not
                                            too few */
static const double other_rate = 1.3, other_use = 0.15; /* CHANGE of them are another load */
static const double certain = 3; /* standard errors */
static const double recent = 0.3; /* weight of a period in recent shares */

void pfd_autotune_open(pfd_autotune *t, const pfd_tune_bounds *bounds)
{
    *t = (pfd_autotune){.bounds = *bounds,
                        .num_threads = bounds->usual_threads,
                        .factor = 1,
                        .from_factor = 1,
                        .trial = -1,
                        .settling = 1,
                        .is_fresh = 1,
                        .change_pause = CHANGE_PAUSE};
    for (int32_t i = 0; i < PFD_TUNE_KINDS; i++)
        t->ways[i] = (pfd_tune_way){.pause = BASE_PAUSE, .stride = bounds->usual_threads};
    t->prefetch = bounds->prefetch ? bounds->prefetch
                                   : bounds->usual_prefetch(bounds->plan, t->num_threads);
    if (t->prefetch > bounds->most_prefetch) t->prefetch = bounds->most_prefetch;
}

void pfd_autotune_limit(pfd_autotune *t, int32_t num_threads)
{
    t->bounds.most_threads = t->num_threads = num_threads;
}

/* ---- Means ----------------------------------------------------------------------------------- */

static void add(pfd_tune_mean *mean, const pfd_tune_period *period)
{
    if (mean->n >= MOST_SAMPLES) { /* the old ones weigh less */
        mean->n /= 2;
        mean->rate_squares /= 2;
        mean->use_squares /= 2;
    }
    double rate = period->ranges_per_s - mean->rate, use = 1 - period->wait - mean->use;
    mean->n++;
    mean->rate += rate / mean->n;
    mean->use += use / mean->n;
    mean->idle += (period->idle - mean->idle) / mean->n;
    mean->batches_per_s += (period->batches_per_s - mean->batches_per_s) / mean->n;
    mean->rate_squares += rate * (period->ranges_per_s - mean->rate);
    mean->use_squares += use * (1 - period->wait - mean->use);
}

/* What a trial has gained, and the standard error of that. */
typedef struct gain {
    double value, error;
} gain;

static gain gain_of(double before, double now, double squares_before, double squares_now,
                    const pfd_autotune *t)
{
    static const double clock_noise = 0.01; /* few equal samples do not mean that all are equal */
    double n_before = t->before.n, n_now = t->now.n;
    double variance = (squares_before + squares_now) / (n_before + n_now - 2);
    variance = variance / (before * before) + clock_noise * clock_noise;
    return (gain){now / before - 1, sqrt(variance * (1 / n_before + 1 / n_now))};
}

/* The gain in ranges per second, relative to those before the trial. */
static gain gain_of_rate(const pfd_autotune *t)
{
    double before = t->before.rate > 1e-9 ? t->before.rate : 1e-9;
    return gain_of(before, t->now.rate, t->before.rate_squares, t->now.rate_squares, t);
}

/* The gain in time without waiting: so much faster does the program run, if the rest takes as
 * long. */
static gain gain_of_use(const pfd_autotune *t)
{
    double before = t->before.use > 1e-3 ? t->before.use : 1e-3;
    return gain_of(before, t->now.use, t->before.use_squares, t->now.use_squares, t);
}

static int32_t is_sure(gain of, double needed)
{
    return of.value >= needed && of.value >= certain * of.error;
}

/* Whether the gain may still turn out to be enough. */
static int32_t is_open(gain of, double needed)
{
    return of.value + of.error >= needed;
}

/* ---- Changes --------------------------------------------------------------------------------- */

static pfd_decision *last_decision(pfd_autotune *t)
{
    return &t->decisions[(t->num_decisions - 1) % PFD_KEPT_DECISIONS];
}

static void set(pfd_autotune *t, int32_t num_threads, int32_t factor)
{
    const pfd_tune_bounds *bounds = &t->bounds;
    t->num_threads = num_threads;
    t->factor = factor;
    t->settling = t->is_fresh = 1;
    if (bounds->prefetch) return;
    int32_t most = num_threads > bounds->usual_threads ? num_threads : bounds->usual_threads;
    int64_t prefetch = (int64_t)factor * bounds->usual_prefetch(bounds->plan, most);
    t->prefetch =
        prefetch < bounds->most_prefetch ? (int32_t)prefetch : bounds->most_prefetch;
}

static int32_t change(pfd_autotune *t, int32_t kind, int32_t num_threads, int32_t factor,
                      const pfd_tune_period *period)
{
    pfd_decision made = {.struct_size = sizeof made,
                         .kind = kind,
                         .at_ns = period->end_ns,
                         .from_threads = t->num_threads,
                         .from_prefetch = t->prefetch,
                         .batches_per_s_before = t->now.batches_per_s,
                         .wait_before = 1 - t->now.use};
    t->from_factor = t->factor;
    set(t, num_threads, factor);
    made.to_threads = t->num_threads;
    made.to_prefetch = t->prefetch;
    t->num_decisions++;
    *last_decision(t) = made;
    t->before = t->now;
    t->now = (pfd_tune_mean){0};
    return 1;
}

static int32_t try(pfd_autotune *t, int32_t kind, int32_t num_threads, int32_t factor,
                   const pfd_tune_period *period)
{
    t->trial = kind;
    t->state = PFD_TUNING_TRYING;
    return change(t, kind, num_threads, factor, period);
}

static void note_result(pfd_autotune *t, int32_t outcome)
{
    pfd_decision *made = last_decision(t);
    made->outcome = outcome;
    made->batches_per_s_after = /* by the finer count, on which it was decided */
        made->batches_per_s_before * t->now.rate / (t->before.rate > 0 ? t->before.rate : 1);
    made->wait_after = 1 - t->now.use;
    t->trial = -1;
    t->state = PFD_TUNING_MEASURING;
}

static void keep(pfd_autotune *t)
{
    static const int32_t opposites[PFD_TUNE_KINDS] = {
        [PFD_TUNE_MORE_THREADS] = PFD_TUNE_FEWER_THREADS,
        [PFD_TUNE_FEWER_THREADS] = PFD_TUNE_MORE_THREADS,
        [PFD_TUNE_MORE_PREFETCH] = PFD_TUNE_LESS_PREFETCH,
        [PFD_TUNE_LESS_PREFETCH] = PFD_TUNE_MORE_PREFETCH,
        [PFD_TUNE_IDLE_THREADS] = PFD_TUNE_FEWER_THREADS,
    };
    pfd_tune_way *way = &t->ways[t->trial], *opposite = &t->ways[opposites[t->trial]];
    if (t->trial == PFD_TUNE_IDLE_THREADS && !t->former_threads)
        t->former_threads = last_decision(t)->from_threads;
    if (opposite->left < 4 * BASE_PAUSE) opposite->left = 4 * BASE_PAUSE;
    way->pause = way->pause > 2 * BASE_PAUSE ? way->pause / 2 : BASE_PAUSE;
    way->stride = t->num_threads;
    t->calm = 0;
    t->contended = 0;
    t->change_pause = CHANGE_PAUSE;
    note_result(t, PFD_TUNE_KEPT);
}

static void wait_longer(pfd_tune_way *way)
{
    way->left = way->pause;
    way->pause = 2 * way->pause < MOST_PAUSE ? 2 * way->pause : MOST_PAUSE;
    way->stride = way->stride > 1 ? way->stride / 2 : 1;
}

static int32_t take_back(pfd_autotune *t)
{
    pfd_decision *made = last_decision(t);
    int32_t kind = t->trial;
    note_result(t, PFD_TUNE_TAKEN_BACK);
    wait_longer(&t->ways[kind]);
    set(t, made->from_threads, t->from_factor);
    t->now = t->before;
    t->calm = 0;
    return 1;
}

/* ---- Judging a trial ------------------------------------------------------------------------- */

/* Keeps what is sure, and takes back what cannot be any more, or has taken too long. */
static int32_t conclude(pfd_autotune *t, int32_t is_kept, int32_t may_be)
{
    if (is_kept) keep(t);
    return is_kept || (may_be && t->now.n < MOST_SAMPLES) ? 0 : take_back(t);
}

static double needed_of_more_threads(const pfd_decision *made)
{
    double more = (double)(made->to_threads - made->from_threads) / made->from_threads;
    return more > 0.3 ? more / 10 : 0.03;
}

/* Threads that wait cost little, but not nothing: more of them must make batches faster by a tenth
 * of what they could. It is as good if the program waits half as long. */
static int32_t judge_more_threads(pfd_autotune *t)
{
    gain rate = gain_of_rate(t), use = gain_of_use(t);
    double needed = needed_of_more_threads(last_decision(t));
    double wait = 1 - t->before.use, needed_use = wait / 2 > 0.01 ? wait / 2 : 0.01;
    if (is_sure(rate, needed) || (wait < 0.5 && is_sure(use, needed_use))) {
        keep(t);
        return 0;
    }
    int32_t open = is_open(rate, needed) || (wait < 0.5 && is_open(use, needed_use));
    if (open && t->now.n < MOST_SAMPLES) return 0;
    if (rate.value < 0.01 && !t->contended) {
        t->contended = 1;
        if (last_decision(t)->from_threads <= t->bounds.usual_threads)
            t->ways[PFD_TUNE_FEWER_THREADS].left = CONTENDED_PAUSE;
    }
    return take_back(t);
}

/* Threads beyond the usual number go if nobody misses their work. Fewer threads than usual must be
 * better: threads that contend for a lock, such as the interpreter's, can be. */
static int32_t judge_fewer_threads(pfd_autotune *t)
{
    static const double missed = -0.03, better = 0.03;
    gain rate = gain_of_rate(t);
    int32_t spare = last_decision(t)->to_threads >= t->bounds.usual_threads;
    int32_t is_kept = spare ? rate.value - rate.error >= missed : is_sure(rate, better);
    return conclude(t, is_kept, is_open(rate, spare ? missed : better));
}

static int32_t judge_more_prefetch(pfd_autotune *t)
{
    static const double needed = 0.02;
    gain use = gain_of_use(t);
    return conclude(t, is_sure(use, needed), is_open(use, needed));
}

static int32_t judge_less_prefetch(pfd_autotune *t)
{
    static const double missed = -0.01;
    gain use = gain_of_use(t);
    return conclude(t, use.value - use.error >= missed, is_open(use, missed));
}

/* Fewer threads are kept if the program still does not wait. */
static int32_t judge_idle_threads(pfd_autotune *t)
{
    double wait = 1 - t->now.use;
    if (wait >= some_wait || t->now.n >= MOST_SAMPLES) return take_back(t);
    if (t->now.n >= CALM && wait < calm_wait) keep(t);
    return 0;
}

static int32_t judge(pfd_autotune *t)
{
    if (t->now.n < LEAST_SAMPLES) return 0;
    if (t->trial == PFD_TUNE_MORE_THREADS) return judge_more_threads(t);
    if (t->trial == PFD_TUNE_FEWER_THREADS) return judge_fewer_threads(t);
    if (t->trial == PFD_TUNE_MORE_PREFETCH) return judge_more_prefetch(t);
    if (t->trial == PFD_TUNE_LESS_PREFETCH) return judge_less_prefetch(t);
    return judge_idle_threads(t);
}

/* ---- What to try next ------------------------------------------------------------------------ */

/* Notices another load: what failed under the one before may help now. While the program does not
 * wait, the rate is its own; batches are made many at a time, and then none for a while. */
static void note_change(pfd_autotune *t, const pfd_tune_period *period)
{
    double rate = period->ranges_per_s, use = 1 - period->wait;
    int32_t sign = 0;
    if (t->now.use >= 1 - calm_wait && period->wait < calm_wait) rate = t->now.rate;
    if (rate > other_rate * t->now.rate || use > t->now.use + other_use) sign = 1;
    if (rate * other_rate < t->now.rate || use < t->now.use - other_use) sign = -1;
    t->since_change++;
    t->strange = sign == 0 || t->now.n < LEAST_SAMPLES ? 0
                 : sign * t->strange > 0               ? t->strange + sign
                                                       : sign;
    if (abs(t->strange) < CHANGE) return;
    t->now = (pfd_tune_mean){0};
    t->strange = 0;
    if (t->since_change < t->change_pause) return;
    t->since_change = 0;
    t->change_pause = 2 * t->change_pause < MOST_PAUSE ? 2 * t->change_pause : MOST_PAUSE;
    for (int32_t i = 0; i < PFD_TUNE_KINDS; i++)
        t->ways[i] = (pfd_tune_way){.pause = BASE_PAUSE, .stride = t->num_threads};
    t->contended = 0;
}

static void note_recent(pfd_autotune *t, const pfd_tune_period *period)
{
    double weight = t->is_fresh ? 1 : recent;
    t->is_fresh = 0;
    t->wait += weight * (period->wait - t->wait);
    t->idle += weight * (period->idle - t->idle);
    t->blocked += weight * (period->blocked - t->blocked);
}

static int32_t is_resting(const pfd_autotune *t, int32_t kind)
{
    return t->ways[kind].left > 0;
}

/* The program does not wait: threads go one quarter at a time, as long as those that stay have
 * twice the time that they need. */
static int32_t choose_when_calm(pfd_autotune *t, const pfd_tune_period *period)
{
    t->state = PFD_TUNING_CALM;
    double needed = ceil(2 * (1 - t->now.idle) * t->num_threads);
    int32_t quarter = t->num_threads / 4 > 1 ? t->num_threads / 4 : 1;
    int32_t least = needed > 1 ? (int32_t)needed : 1, fewer = t->num_threads - quarter;
    if (fewer < least) fewer = least;
    int32_t is_time = t->calm >= CALM && t->now.n >= CALM && !is_resting(t, PFD_TUNE_IDLE_THREADS);
    if (!is_time || fewer >= t->num_threads || !t->bounds.tunes_threads) return 0;
    return try(t, PFD_TUNE_IDLE_THREADS, fewer, t->factor, period);
}

static int32_t use_again(pfd_autotune *t, const pfd_tune_period *period)
{
    int32_t former = t->former_threads;
    t->former_threads = 0;
    wait_longer(&t->ways[PFD_TUNE_IDLE_THREADS]);
    t->state = PFD_TUNING_MEASURING;
    (void)change(t, PFD_TUNE_AGAIN, former, t->factor, period);
    last_decision(t)->outcome = PFD_TUNE_KEPT;
    return 1;
}

static int32_t choose_prefetch(pfd_autotune *t, const pfd_tune_period *period)
{
    int32_t may = t->bounds.tunes_prefetch && period->is_full && period->has_memory;
    t->state = PFD_TUNING_SEQUENTIAL;
    if (!may) return 0;
    t->state = PFD_TUNING_AT_MOST;
    if (t->factor >= PFD_MOST_FACTOR || t->prefetch >= t->bounds.most_prefetch) return 0;
    t->state = PFD_TUNING_TRIED;
    if (is_resting(t, PFD_TUNE_MORE_PREFETCH)) return 0;
    return try(t, PFD_TUNE_MORE_PREFETCH, t->num_threads, 2 * t->factor, period);
}

static int32_t choose_threads(pfd_autotune *t, const pfd_tune_period *period)
{
    const pfd_tune_bounds *bounds = &t->bounds;
    int32_t is_blocked = t->blocked >= some_blocked * (1 - t->idle);
    int32_t may_more = t->num_threads < bounds->num_processors || is_blocked;
    t->state = PFD_TUNING_COMPUTING;
    if (may_more) {
        int32_t more = t->num_threads + t->ways[PFD_TUNE_MORE_THREADS].stride;
        if (more > bounds->most_threads) more = bounds->most_threads;
        if (!bounds->tunes_threads) more = t->num_threads;
        t->state = more > t->num_threads ? PFD_TUNING_TRIED : PFD_TUNING_AT_MOST;
        if (more > t->num_threads && !is_resting(t, PFD_TUNE_MORE_THREADS))
            return try(t, PFD_TUNE_MORE_THREADS, more, t->factor, period);
    }
    int32_t quarter = t->num_threads / 4 > 1 ? t->num_threads / 4 : 1;
    int32_t fewer = t->num_threads - quarter, usual = bounds->usual_threads;
    if (fewer < usual && t->num_threads > usual) fewer = usual;
    int32_t may_fewer = t->num_threads > usual || (t->contended && is_blocked);
    if (!bounds->tunes_threads || !may_fewer || fewer < 1) return 0;
    if (is_resting(t, PFD_TUNE_FEWER_THREADS)) return 0;
    return try(t, PFD_TUNE_FEWER_THREADS, fewer, t->factor, period);
}

/* Whether the mean is known well enough to be compared with. */
static int32_t is_known(const pfd_tune_mean *mean)
{
    if (mean->n < LEAST_SAMPLES) return 0;
    double variance = mean->rate_squares / (mean->n - 1) / mean->n;
    return mean->n >= MOST_SAMPLES / 2 || variance <= 0.01 * mean->rate * mean->rate;
}

static int32_t choose(pfd_autotune *t, const pfd_tune_period *period)
{
    t->calm = t->wait < calm_wait ? t->calm + 1 : 0;
    if (!is_known(&t->now)) return 0;
    if (t->wait < some_wait) return choose_when_calm(t, period);
    if (t->former_threads > t->num_threads) return use_again(t, period);
    if (t->idle >= mostly_idle && choose_prefetch(t, period)) return 1;
    int32_t state = t->state;
    if (t->idle < 2 * mostly_idle && choose_threads(t, period)) return 1;
    if (t->idle >= mostly_idle) t->state = state;
    if (t->factor == 1 || is_resting(t, PFD_TUNE_LESS_PREFETCH)) return 0;
    return try(t, PFD_TUNE_LESS_PREFETCH, t->num_threads, t->factor / 2, period);
}

int32_t pfd_autotune_step(pfd_autotune *t, const pfd_tune_period *period)
{
    if (t->settling > 0) {
        t->settling--;
        return 0;
    }
    for (int32_t i = 0; i < PFD_TUNE_KINDS; i++) t->ways[i].left -= t->ways[i].left > 0;
    if (t->trial < 0) note_change(t, period);
    note_recent(t, period);
    add(&t->now, period);
    return t->trial < 0 ? choose(t, period) : judge(t);
}

/* ---- The periods ----------------------------------------------------------------------------- */

#define PERIOD_NS INT64_C(100000000)
#define PAUSE_NS INT64_C(1000000000) /* longer than batches ahead can cover */

/* A period has so many steps, or row ranges, or it goes on: fewer tell too little. */
enum { LEAST_STEPS = 4, LEAST_CHUNKS = 64 };
enum { MOST_SAMPLED = 8 /* threads that the kernel is asked about */ };

pfd_status pfd_tuning_open(const pfd_tune_bounds *bounds, pfd_tuning **out, pfd_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return pfd_fail_memory(err, sizeof **out, "the loader's history");
    pfd_autotune_open(&(*out)->tuner, bounds);
    return PFD_OK;
}

void pfd_tuning_restart(pfd_tuning *tuning)
{
    if (!tuning) return;
    tuning->is_measuring = 0;
    tuning->due_ns = 0;
}

/* Threads that the kernel is asked about: the first ones, which are like the others. */
static int32_t num_sampled(int32_t num_threads)
{
    return num_threads < MOST_SAMPLED ? num_threads : MOST_SAMPLED;
}

int64_t pfd_tuning_used_ns(const pfd_threads *threads, int32_t num_threads)
{
    pfd_thread_usage usage = {0};
    for (int32_t i = 0; i < num_sampled(num_threads); i++)
        pfd_thread_usage_add_times(pfd_thread_pool_system_id(threads->pool, i), &usage);
    return usage.cpu_ns + usage.runnable_ns;
}

/* The first batches of epochs are made ahead as any other, where there was no seek. */
static pfd_tuning_counts count(const pfd_counters *counters, const pfd_threads *threads,
                               int64_t used_ns)
{
    const pfd_steps *steps = &counters->steps;
    pfd_pool_counts pool = pfd_thread_pool_counts(threads->pool);
    return (pfd_tuning_counts){.now_ns = pfd_clock_ns(),
                               .num_chunks = pool.num_chunks,
                               .thread_ns = pool.thread_ns,
                               .idle_ns = pool.idle_ns,
                               .steps = steps->steps + steps->starts,
                               .wait_ns = steps->times[PFD_TIME_WAIT] +
                                          steps->times[PFD_TIME_HELP],
                               .train_ns = steps->times[PFD_TIME_OUTSIDE],
                               .batches_made = counters->stats.batches_made,
                               .no_memory_ns = counters->stats.no_memory_ns,
                               .used_ns = used_ns};
}

static void begin_period(pfd_tuning *tuning, pfd_counters *counters, const pfd_tuning_counts *now)
{
    tuning->is_measuring = 1;
    tuning->due_ns = now->now_ns + PERIOD_NS;
    tuning->begin = *now;
    counters->steps.longest_train_ns = 0;
    counters->was_full = 0;
}

void pfd_tuning_begin(pfd_tuning *tuning, pfd_counters *counters, const pfd_threads *threads,
                      int64_t used_ns)
{
    pfd_tuning_counts now = count(counters, threads, used_ns);
    begin_period(tuning, counters, &now);
}

static double share(int64_t part, int64_t whole)
{
    if (whole <= 0 || part <= 0) return 0;
    return part < whole ? (double)part / (double)whole : 1;
}

/* Returns 0 if the period goes on, or tells nothing. */
static int32_t end_period(const pfd_tuning_counts *begin, const pfd_tuning_counts *now,
                          const pfd_counters *counters, int32_t num_threads, pfd_tune_period *out)
{
    int64_t chunks = now->num_chunks - begin->num_chunks, ns = now->now_ns - begin->now_ns;
    int64_t num_steps = now->steps - begin->steps;
    if (num_steps < 1 || (num_steps < LEAST_STEPS && chunks < LEAST_CHUNKS)) return 0;
    int64_t wait_ns = now->wait_ns - begin->wait_ns, train_ns = now->train_ns - begin->train_ns;
    *out = (pfd_tune_period){
        .end_ns = now->now_ns,
        .ranges_per_s = (double)chunks * 1e9 / (double)ns,
        .batches_per_s = (double)(now->batches_made - begin->batches_made) * 1e9 / (double)ns,
        .wait = share(wait_ns, wait_ns + train_ns),
        .idle = share(now->idle_ns - begin->idle_ns, now->thread_ns - begin->thread_ns),
        .is_full = counters->was_full,
        .has_memory = !counters->no_memory_since_ns && now->no_memory_ns == begin->no_memory_ns};
    double used = share(now->used_ns - begin->used_ns, num_sampled(num_threads) * ns);
    out->blocked = out->idle + used < 1 ? 1 - out->idle - used : 0;
    return 1;
}

static int32_t was_paused(const pfd_tuning *tuning, const pfd_steps *steps, int64_t now_ns)
{
    int64_t pause_ns = steps->longest_train_ns;
    return pause_ns > PAUSE_NS && 2 * pause_ns > now_ns - tuning->begin.now_ns;
}

int32_t pfd_tuning_end(pfd_tuning *tuning, pfd_counters *counters, const pfd_threads *threads,
                       int32_t num_threads, int64_t used_ns)
{
    pfd_tuning_counts now = count(counters, threads, used_ns);
    if (tuning->is_measuring && !was_paused(tuning, &counters->steps, now.now_ns)) {
        pfd_tune_period period;
        if (!end_period(&tuning->begin, &now, counters, num_threads, &period)) return 0;
        if (pfd_autotune_step(&tuning->tuner, &period)) return 1;
    }
    begin_period(tuning, counters, &now);
    return 0;
}

/* ---- Reports --------------------------------------------------------------------------------- */

pfd_tuning_info pfd_tuning_get_info(const pfd_tuning *tuning)
{
    const pfd_autotune *tuner = &tuning->tuner;
    return (pfd_tuning_info){.struct_size = sizeof(pfd_tuning_info),
                             .state = tuner->state,
                             .tunes_threads = tuner->bounds.tunes_threads,
                             .tunes_prefetch = tuner->bounds.tunes_prefetch,
                             .most_threads = tuner->bounds.most_threads,
                             .most_prefetch = tuner->bounds.most_prefetch,
                             .num_decisions = tuner->num_decisions,
                             .wait = tuner->wait,
                             .idle = tuner->idle,
                             .blocked = tuner->blocked};
}

pfd_status pfd_tuning_get_decision(const pfd_tuning *tuning, int64_t i, pfd_decision *out)
{
    int64_t made = tuning->tuner.num_decisions;
    int64_t first = made > PFD_KEPT_DECISIONS ? made - PFD_KEPT_DECISIONS : 0;
    if (i < 0 || first + i >= made) return PFD_END;
    *out = tuning->tuner.decisions[(first + i) % PFD_KEPT_DECISIONS];
    return PFD_OK;
}
