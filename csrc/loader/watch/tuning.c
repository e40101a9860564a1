/* Trials of other numbers of threads and batches ahead, what is learned from them, and the periods
 * of a loader in which that is measured. */
#include "loader/watch/tuning.h"

#include "core/cpu.h"
#include "core/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lengths in periods, or in windows of several periods.  Numbers that are compared with weights are
 * not enumerators, since compilers warn of that. */
#define LEAST_SAMPLES 3 /* before anything is concluded */
#define MOST_SAMPLES 32 /* after which old ones weigh less */
#define MOST_TRIED 24   /* periods with the tried numbers, after which a trial has failed */
#define CALM 20         /* without waiting, before a thread is given back */
enum {
    BASE_PAUSE = 8,     /* after the first failure of a kind of trial */
    MOST_PAUSE = 1024,
    PROOF_PAUSE = 48,   /* at most, as long as there are fewer threads than usual */
    CHANGE = 4,         /* periods that differ from those before: the load has changed */
    CHANGE_PAUSE = 16,  /* after such a change, before the next one counts */
    THREADS_WINDOW = 2, /* of a trial; threads work at once, ... */
    PREFETCH_WINDOW = 6 /* ... batches ahead help when they are there */
};

/* The first trial may gain most, so it begins early. */
#define PERIOD_NS INT64_C(100000000)
#define FIRST_PERIOD_NS INT64_C(40000000)

static const double calm_wait = 0.01, some_wait = 0.02; /* shares of the time */
/* Shares of the threads' time without work, above which: there may be too few batches ahead;
 * batches are tried before threads; there are enough threads. */
static const double some_idle = 0.1, much_idle = 0.25, mostly_idle = 0.5;
static const double some_blocked = 0.15; /* from this part of the busy time on, processors are not
                                            too few */
static const double some_in_line = 0.3;  /* waking up takes less of it */
/* Threads that compute: with fewer than mostly_waits, many more threads may gain much; with up to
 * more_than_one, threads may take turns at a lock. */
static const double mostly_waits = 0.5, more_than_one = 1.3;
static const double other_rate = 1.3, other_use = 0.15; /* CHANGE of them are another load */
static const double certain = 3; /* standard errors */
static const double recent = 0.3; /* weight of a period in recent shares */
/* Periods of work that trials may lose: for each period, and in addition; what a period of a trial
 * costs beside its loss; the most that a better one is credited, since chance makes some better and
 * some worse. */
static const double earned = 0.02, credit = 2, toll = 0.02, most_made_up = 0.3;

void pfd_autotune_open(pfd_autotune *t, const pfd_tune_bounds *bounds)
{
    *t = (pfd_autotune){.bounds = *bounds,
                        .num_threads = bounds->usual_threads,
                        .factor = 1,
                        .trial = {.kind = -1},
                        .settling = 1,
                        .is_fresh = 1,
                        .lost = -credit,
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
    if (t->trial.kind >= 0 && t->trial.threads > num_threads) t->trial.threads = num_threads;
}

/* ---- Means ----------------------------------------------------------------------------------- */

static void add(pfd_tune_mean *mean, const pfd_tune_period *period)
{
    if (mean->n >= MOST_SAMPLES) { /* the old ones weigh less */
        mean->n /= 2;
        mean->rate_squares /= 2;
        mean->use_squares /= 2;
        mean->thrift_squares /= 2;
    }
    double rate = period->ranges_per_s - mean->rate, use = 1 - period->wait - mean->use;
    double thrift = period->thrift - mean->thrift;
    mean->n++;
    mean->rate += rate / mean->n;
    mean->use += use / mean->n;
    mean->thrift += thrift / mean->n;
    mean->idle += (period->idle - mean->idle) / mean->n;
    mean->batches_per_s += (period->batches_per_s - mean->batches_per_s) / mean->n;
    mean->rate_squares += rate * (period->ranges_per_s - mean->rate);
    mean->use_squares += use * (1 - period->wait - mean->use);
    mean->thrift_squares += thrift * (period->thrift - mean->thrift);
}

/* ---- What a trial has gained ----------------------------------------------------------------- */

/* Nothing divides by less. */
static double at_least(double value, double least)
{
    return value > least ? value : least;
}

static void add_gain(pfd_tune_gain *gain, double before, double tried, double after, double least)
{
    double value = tried / at_least((before + after) / 2, least) - 1;
    double from_mean = value - gain->mean;
    gain->n++;
    gain->mean += from_mean / gain->n;
    gain->squares += from_mean * (value - gain->mean);
}

/* A window with the tried numbers lies between two windows with the former numbers: a load that
 * drifts changes all three, and cancels out. */
static void add_gains(pfd_tune_trial *trial, const pfd_tune_mean *after)
{
    const pfd_tune_mean *before = &trial->last, *tried = &trial->tried;
    add_gain(&trial->rate, before->rate, tried->rate, after->rate, 1e-9);
    add_gain(&trial->use, before->use, tried->use, after->use, 1e-3);
    add_gain(&trial->thrift, before->thrift, tried->thrift, after->thrift, 1e-9);
}

/* A gain, and its standard error. */
typedef struct estimate {
    double value, error;
} estimate;

/* Few windows say little about their spread, so the spread of single periods before the trial
 * counts as two more windows. */
static estimate estimate_of(const pfd_autotune *t, const pfd_tune_gain *gain, double mean,
                            double squares)
{
    static const double clock_noise = 0.01; /* few equal samples do not mean that all are equal */
    double of_periods = squares / at_least(t->before.n - 1, 1) / at_least(mean * mean, 1e-12);
    double of_windows =
        (of_periods + clock_noise * clock_noise) * 1.5 / t->trial.periods_per_window;
    double variance = (gain->squares + 2 * of_windows) / (gain->n + 1);
    return (estimate){gain->mean, sqrt(variance / at_least(gain->n, 1))};
}

/* In ranges per second: how much faster batches are made. */
static estimate gain_of_rate(const pfd_autotune *t)
{
    return estimate_of(t, &t->trial.rate, t->before.rate, t->before.rate_squares);
}

/* In time without waiting: how much faster the program runs, if the rest takes as long as
 * before. */
static estimate gain_of_use(const pfd_autotune *t)
{
    return estimate_of(t, &t->trial.use, t->before.use, t->before.use_squares);
}

/* In ranges per second of processor time: how much less each costs.  Other programs on the machine,
 * and a load that comes and goes, disturb it little. */
static estimate gain_of_thrift(const pfd_autotune *t)
{
    if (t->before.thrift <= 0) return (estimate){0}; /* unknown */
    return estimate_of(t, &t->trial.thrift, t->before.thrift, t->before.thrift_squares);
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
    t->settling = 1;
    t->window = (pfd_tune_mean){0};
    if (bounds->prefetch) return;
    int32_t most = num_threads > bounds->usual_threads ? num_threads : bounds->usual_threads;
    int64_t prefetch = (int64_t)factor * bounds->usual_prefetch(bounds->plan, most);
    t->prefetch =
        prefetch < bounds->most_prefetch ? (int32_t)prefetch : bounds->most_prefetch;
}

static void change(pfd_autotune *t, int32_t kind, int32_t num_threads, int32_t factor,
                      const pfd_tune_period *period)
{
    pfd_decision made = {.struct_size = sizeof made,
                         .kind = kind,
                         .at_ns = period->end_ns,
                         .from_threads = t->num_threads,
                         .from_prefetch = t->prefetch,
                         .batches_per_s_before = t->now.batches_per_s,
                         .wait_before = 1 - t->now.use};
    t->before = t->now;
    set(t, num_threads, factor);
    made.to_threads = t->num_threads;
    made.to_prefetch = t->prefetch;
    t->num_decisions++;
    *last_decision(t) = made;
}

/* Batches ahead help when they are there: a window lasts for as long as idle threads need to make
 * them, and two periods. */
static int32_t prefetch_window(const pfd_autotune *t, int32_t factor)
{
    double more = (double)t->prefetch * abs(factor - t->factor) / t->factor;
    double spare = at_least(t->now.idle, some_idle) * t->now.batches_per_s * PERIOD_NS / 1e9;
    double periods = THREADS_WINDOW + more / at_least(spare, 1e-9);
    return periods < PREFETCH_WINDOW ? (int32_t)ceil(periods) : PREFETCH_WINDOW;
}

/* Returns 1: a trial has started. */
static int32_t try(pfd_autotune *t, int32_t kind, int32_t num_threads, int32_t factor,
                   const pfd_tune_period *period)
{
    int32_t is_of_threads = num_threads != t->num_threads;
    t->trial = (pfd_tune_trial){
        .kind = kind,
        .is_on = 1,
        .from_threads = t->num_threads,
        .from_factor = t->factor,
        .threads = num_threads,
        .factor = factor,
        .periods_per_window = is_of_threads ? THREADS_WINDOW : prefetch_window(t, factor),
        .last = t->now,
    };
    t->state = PFD_TUNING_TRYING;
    change(t, kind, num_threads, factor, period);
    return 1;
}

static void note_result(pfd_autotune *t, int32_t outcome)
{
    pfd_decision *made = last_decision(t);
    made->outcome = outcome;
    made->batches_per_s_after = /* by the finer count, on which it was decided */
        made->batches_per_s_before * (1 + t->trial.rate.mean);
    made->wait_after = 1 - t->trial.tried.use;
    t->trial.kind = -1;
    t->state = PFD_TUNING_MEASURING;
    t->calm = 0;
}

/* One busy thread alone looks the same whether there is a lock or not. */
static int32_t may_hold_lock(const pfd_autotune *t, int32_t num_threads)
{
    return num_threads < t->bounds.usual_threads && t->idle < much_idle;
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
    const pfd_tune_trial *trial = &t->trial;
    pfd_tune_way *way = &t->ways[trial->kind], *opposite = &t->ways[opposites[trial->kind]];
    if (trial->kind == PFD_TUNE_IDLE_THREADS && !t->former_threads)
        t->former_threads = trial->from_threads;
    double more = (double)trial->threads / trial->from_threads - 1;
    int32_t is_large = more >= 2 && trial->rate.mean > more / 2; /* most of them are needed */
    int32_t left = may_hold_lock(t, trial->threads) ? BASE_PAUSE : 4 * BASE_PAUSE;
    if (is_large) left = 16 * BASE_PAUSE;
    if (opposite->left < left) opposite->left = left;
    if (opposite->pause < 4 * BASE_PAUSE) opposite->pause = left;
    if (trial->factor > trial->from_factor && trial->kind == PFD_TUNE_MORE_THREADS)
        t->ways[PFD_TUNE_LESS_PREFETCH].left = 16 * BASE_PAUSE; /* it costs only memory */
    opposite->stride = (abs(trial->threads - trial->from_threads) + 1) / 2; /* to between them */
    way->pause = way->pause > 2 * BASE_PAUSE ? way->pause / 2 : BASE_PAUSE;
    /* Work that waits all the time may gain as at first: three times as many threads for three
     * times the gain. */
    way->stride = trial->rate.mean > 0.8 * more && more > 0 ? 3 * trial->threads : trial->threads;
    t->change_pause = CHANGE_PAUSE;
    t->is_fresh = 1;
    if (t->lost > 0) t->lost = 0; /* it was worth it */
    note_result(t, PFD_TUNE_KEPT);
    t->now = t->trial.tried;
    t->now.n = t->now.rate_squares = t->now.use_squares = 0; /* counts as no sample */
    t->now.thrift_squares = 0;
    set(t, trial->threads, trial->factor);
}

static void wait_longer(pfd_tune_way *way)
{
    way->left = way->pause;
    way->pause = 2 * way->pause < MOST_PAUSE ? 2 * way->pause : MOST_PAUSE;
}

static void take_back(pfd_autotune *t)
{
    const pfd_tune_trial *trial = &t->trial;
    pfd_tune_way *way = &t->ways[trial->kind];
    wait_longer(way);
    way->stride = (abs(trial->threads - trial->from_threads) + 1) / 2;
    int32_t is_proof =
        trial->kind == PFD_TUNE_MORE_THREADS && may_hold_lock(t, trial->from_threads);
    if (is_proof && way->left > PROOF_PAUSE) way->left = PROOF_PAUSE;
    note_result(t, PFD_TUNE_TAKEN_BACK);
    if (trial->is_on) set(t, trial->from_threads, trial->from_factor);
}

/* ---- Judging a trial ------------------------------------------------------------------------- */

enum { WORSE = -1, OPEN, BETTER };

static int32_t largest(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t smallest(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Whether the gain `needed` is certain, or still possible.  A single window must show it more
 * clearly. */
static int32_t is_gain(const pfd_autotune *t, estimate of, double needed)
{
    int32_t is_one = t->trial.rate.n < 2;
    if (of.value >= needed && of.value >= (is_one ? 2 : 1) * certain * of.error) return BETTER;
    int32_t may_be = of.value + (is_one ? certain : 1) * of.error >= needed;
    double num_tried = t->trial.rate.n * t->trial.periods_per_window;
    return may_be && num_tried < MOST_TRIED ? OPEN : WORSE;
}

/* Whether no more than `missed` is lost, where less memory and fewer threads are the gain. */
static int32_t is_no_loss(const pfd_autotune *t, estimate of, double missed)
{
    if (t->trial.rate.n >= LEAST_SAMPLES && of.value - of.error >= -missed) return BETTER;
    return is_gain(t, of, -missed) == WORSE ? WORSE : OPEN;
}

/* Threads that wait cost little, but not nothing: more of them must make batches faster by a part
 * of what they could. It is as good if the program waits half as long, and is not slower: threads
 * and the program share the processors. */
static int32_t judge_more_threads(const pfd_autotune *t)
{
    double more = (double)t->trial.threads / t->trial.from_threads - 1, wait = 1 - t->before.use;
    estimate rate = gain_of_rate(t);
    int32_t by_rate = is_gain(t, rate, more < 0.5 ? more / 10 : 0.05);
    if (wait >= 0.5 || rate.value + rate.error <= 0) return by_rate;
    return largest(by_rate, is_gain(t, gain_of_use(t), at_least(wait / 2, 0.01)));
}

/* Whether threads compute while they have work, as far as the kernel counts that. */
static int32_t computes(const pfd_autotune *t)
{
    return t->now.thrift > 0 && t->blocked < some_blocked * (1 - t->idle);
}

/* Threads beyond the usual number go if nobody misses their work. Fewer threads than usual must be
 * better: threads that contend for a lock, such as the interpreter's, can be. Where work computes,
 * it is as good if batches cost less and come no slower. */
static int32_t judge_fewer_threads(const pfd_autotune *t)
{
    estimate rate = gain_of_rate(t);
    int32_t by_rate = is_gain(t, rate, 0.03), no_loss = is_no_loss(t, rate, 0.02);
    if (t->trial.threads >= t->bounds.usual_threads) return largest(by_rate, no_loss);
    if (!computes(t)) return by_rate;
    return largest(by_rate, smallest(no_loss, is_gain(t, gain_of_thrift(t), 0.02)));
}

/* Whether more than a quarter of a gain in time is paid with processor time. */
static int32_t is_dear(const pfd_autotune *t)
{
    estimate thrift = gain_of_thrift(t);
    return is_gain(t, thrift, -0.03) == WORSE && -thrift.value > gain_of_rate(t).value / 4;
}

/* With more batches ahead, threads are woken more rarely, which is most of the work of cheap
 * batches; but caches hold fewer of them.  So a gain in thrift, which is known long before one in
 * time, is as good, unless several windows of time speak against it. */
static int32_t judge_prefetch(const pfd_autotune *t)
{
    estimate gain = t->before.use < 0.5 ? gain_of_rate(t) : gain_of_use(t);
    if (is_dear(t)) return WORSE;
    if (t->trial.kind == PFD_TUNE_LESS_PREFETCH) return is_no_loss(t, gain, 0.01);
    int32_t by_time = is_gain(t, gain, 0.02), by_thrift = is_gain(t, gain_of_thrift(t), 0.02);
    int32_t is_slower = gain.value + gain.error <= 0;
    if (is_slower && (t->trial.rate.n >= LEAST_SAMPLES || !computes(t))) return by_time;
    if (is_slower && by_thrift == BETTER) by_thrift = OPEN;
    return largest(by_time, by_thrift);
}

static int32_t judge_gain(const pfd_autotune *t)
{
    if (t->trial.kind == PFD_TUNE_MORE_THREADS) return judge_more_threads(t);
    return t->trial.kind == PFD_TUNE_FEWER_THREADS ? judge_fewer_threads(t) : judge_prefetch(t);
}

/* Fewer threads are kept if the program still does not wait. */
static void judge_idle_threads(pfd_autotune *t)
{
    double wait = 1 - t->window.use;
    t->trial.tried = t->window;
    if (t->window.n < LEAST_SAMPLES) return;
    if (wait >= some_wait || t->window.n >= MOST_SAMPLES) take_back(t);
    else if (t->window.n >= CALM && wait < calm_wait) keep(t);
}

/* 1, -1: much more or less work is done than before, so the load has changed; 0: about as much. */
static int32_t is_other(const pfd_tune_mean *before, double rate, double use)
{
    if (rate > other_rate * before->rate || use > before->use + other_use) return 1;
    return rate * other_rate < before->rate || use < before->use - other_use ? -1 : 0;
}

/* Whether a single window leaves no doubt: three times the work or more. */
static int32_t is_obvious(const pfd_autotune *t)
{
    estimate rate = gain_of_rate(t);
    return t->trial.kind == PFD_TUNE_MORE_THREADS && rate.value >= 2 &&
           rate.value >= 4 * certain * rate.error;
}

/* The tried numbers have had a window. The trial ends if it was so bad that no later one can make
 * up for it, or so good that no other one is needed. The next window has the former numbers. */
static void leave(pfd_autotune *t)
{
    pfd_tune_trial *trial = &t->trial, so_far;
    trial->tried = t->window;
    so_far = *trial;
    add_gains(trial, &trial->last);
    if (judge_gain(t) == WORSE) {
        take_back(t);
        return;
    }
    if (is_obvious(t)) {
        keep(t);
        return;
    }
    *trial = so_far;
    trial->is_on = 0;
    set(t, trial->from_threads, trial->from_factor);
}

/* The former numbers have had a window again. */
static void compare(pfd_autotune *t)
{
    pfd_tune_trial *trial = &t->trial;
    if (!is_other(&trial->last, t->window.rate, t->window.use)) add_gains(trial, &t->window);
    trial->last = t->window;
    int32_t found = judge_gain(t);
    if (found == BETTER) {
        keep(t);
    } else if (found == WORSE || t->lost > 0) {
        take_back(t);
    } else {
        trial->is_on = 1;
        set(t, trial->threads, trial->factor);
    }
}

/* A trial alternates between the tried numbers and the former ones. */
static void judge(pfd_autotune *t)
{
    const pfd_tune_trial *trial = &t->trial;
    int32_t is_bad = trial->is_on && t->window.rate < 0.8 * trial->last.rate;
    if (trial->kind == PFD_TUNE_IDLE_THREADS) judge_idle_threads(t);
    else if (t->window.n < trial->periods_per_window && !is_bad) return;
    else if (trial->is_on) leave(t);
    else compare(t);
}

/* ---- What to try next ------------------------------------------------------------------------ */

/* Notices that the load has changed: a change that failed before may help now. While the program
 * does not wait, the rate is the program's own; batches are then made many at a time, followed by a
 * pause. Where work computes, other programs change its rate, but not what it costs. */
static void note_change(pfd_autotune *t, const pfd_tune_period *period)
{
    double rate = period->ranges_per_s, use = 1 - period->wait;
    if (computes(t)) {
        rate = t->now.rate * period->thrift / t->now.thrift;
        use = t->now.use;
    }
    if (t->now.use >= 1 - calm_wait && period->wait < calm_wait) rate = t->now.rate;
    int32_t sign = is_other(&t->now, rate, use);
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
    int32_t less = largest(t->ways[PFD_TUNE_LESS_PREFETCH].left, 4 * BASE_PAUSE);
    for (int32_t i = 0; i < PFD_TUNE_KINDS; i++)
        t->ways[i] = (pfd_tune_way){.pause = BASE_PAUSE, .stride = t->num_threads};
    t->ways[PFD_TUNE_LESS_PREFETCH].left = less; /* it costs only memory */
    if (t->lost > -credit) t->lost = -credit;
}

static void note_recent(pfd_autotune *t, const pfd_tune_period *period)
{
    double weight = t->is_fresh ? 1 : recent;
    t->is_fresh = 0;
    t->wait += weight * (period->wait - t->wait);
    t->idle += weight * (period->idle - t->idle);
    t->blocked += weight * (period->blocked - t->blocked);
    t->in_line += weight * (period->in_line - t->in_line);
}

static int32_t is_resting(const pfd_autotune *t, int32_t kind)
{
    return t->ways[kind].left > 0;
}

/* Threads beyond the usual number go one quarter at a time: where all are needed, a trial loses no
 * more than that. */
static int32_t without_quarter(const pfd_autotune *t)
{
    return largest(3 * t->num_threads / 4, t->bounds.usual_threads);
}

/* The program does not wait: threads go as long as those that stay have twice the time that they
 * need. */
static void choose_when_calm(pfd_autotune *t, const pfd_tune_period *period)
{
    t->state = PFD_TUNING_CALM;
    double needed = ceil(2 * (1 - t->now.idle) * t->num_threads);
    int32_t fewer = largest(without_quarter(t), (int32_t)needed);
    int32_t is_time = t->calm >= CALM && t->now.n >= CALM && !is_resting(t, PFD_TUNE_IDLE_THREADS);
    if (is_time && fewer < t->num_threads && t->bounds.tunes_threads)
        (void)try(t, PFD_TUNE_IDLE_THREADS, fewer, t->factor, period);
}

static void use_again(pfd_autotune *t, const pfd_tune_period *period)
{
    int32_t former = t->former_threads;
    t->former_threads = 0;
    wait_longer(&t->ways[PFD_TUNE_IDLE_THREADS]);
    t->state = PFD_TUNING_MEASURING;
    change(t, PFD_TUNE_AGAIN, former, t->factor, period);
    last_decision(t)->outcome = PFD_TUNE_KEPT;
    t->now = (pfd_tune_mean){0};
    t->is_fresh = 1;
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

/* Fewer threads: `least` at first, or a quarter fewer if they are more than usual; then smaller
 * steps. */
static int32_t choose_fewer_threads(pfd_autotune *t, int32_t least, const pfd_tune_period *period)
{
    if (t->num_threads > t->bounds.usual_threads) least = without_quarter(t);
    int32_t fewer = largest(t->num_threads - t->ways[PFD_TUNE_FEWER_THREADS].stride, least);
    if (fewer >= t->num_threads || is_resting(t, PFD_TUNE_FEWER_THREADS)) return 0;
    return try(t, PFD_TUNE_FEWER_THREADS, fewer, t->factor, period);
}

/* How many threads would compute as much as all do, if they did nothing else. */
static double num_computing(const pfd_autotune *t)
{
    return (1 - t->idle - t->blocked - t->in_line) * t->num_threads;
}

/* Threads that are often without work, and otherwise wait in line for a processor longer than they
 * compute, may cost more than they do. As many are tried as would compute half of their time. */
static int32_t choose_threads_of_cheap_work(pfd_autotune *t, const pfd_tune_period *period)
{
    double needed = at_least(ceil(2 * num_computing(t)), 1);
    int32_t is_cheap = computes(t) && t->in_line * t->num_threads >= num_computing(t);
    return t->bounds.tunes_threads && is_cheap && needed < t->num_threads &&
           choose_fewer_threads(t, (int32_t)needed, period);
}

/* Many more threads come with more batches ahead: where batches take unequal times, others are made
 * while the program waits for a slow one. */
static int32_t choose_more_threads(pfd_autotune *t, const pfd_tune_period *period)
{
    const pfd_tune_bounds *bounds = &t->bounds;
    const pfd_tune_way *way = &t->ways[PFD_TUNE_MORE_THREADS];
    int32_t may_be_many = num_computing(t) < mostly_waits && way->pause == BASE_PAUSE; /* at once */
    int32_t more = t->num_threads + (may_be_many ? 7 * t->num_threads : way->stride);
    int32_t factor = t->factor;
    if (may_be_many && bounds->tunes_prefetch && factor < PFD_MOST_FACTOR) factor *= 2;
    if (t->num_threads < bounds->usual_threads) more = smallest(more, bounds->usual_threads);
    more = smallest(more, bounds->most_threads);
    if (!bounds->tunes_threads) more = t->num_threads;
    t->state = more > t->num_threads ? PFD_TUNING_TRIED : PFD_TUNING_AT_MOST;
    if (more <= t->num_threads || is_resting(t, PFD_TUNE_MORE_THREADS)) return 0;
    return try(t, PFD_TUNE_MORE_THREADS, more, factor, period);
}

/* Threads at a lock take turns: together they compute for about as long as one thread could. If
 * they do, fewer of them are tried first.  More threads help if a processor would be there for
 * them: on a machine whose processors others use, those that there are wait longer in line for one
 * than for anything else. */
static int32_t choose_threads(pfd_autotune *t, const pfd_tune_period *period)
{
    const pfd_tune_bounds *bounds = &t->bounds;
    int32_t is_blocked = t->blocked >= some_blocked * (1 - t->idle);
    double computing = num_computing(t);
    int32_t take_turns = is_blocked && computing >= mostly_waits;
    int32_t is_crowded = t->in_line >= some_in_line * (1 - t->idle) && t->in_line > t->blocked;
    int32_t may_more = !is_crowded && (t->num_threads < bounds->num_processors || is_blocked);
    int32_t may_fewer = bounds->tunes_threads &&
                        (take_turns || t->num_threads > bounds->usual_threads);
    t->state = PFD_TUNING_COMPUTING;
    if (take_turns && computing < more_than_one && choose_fewer_threads(t, 1, period)) return 1;
    if (may_more && choose_more_threads(t, period)) return 1;
    return may_fewer ? choose_fewer_threads(t, 1, period) : 0;
}

/* Whether the mean is known well enough to be compared with: at first roughly, where much may be
 * gained. */
static int32_t is_known(const pfd_autotune *t)
{
    const pfd_tune_mean *mean = &t->now;
    if (mean->n < LEAST_SAMPLES) return 0;
    int32_t may_gain_much =
        t->num_decisions == 0 && !computes(t) && num_computing(t) < mostly_waits;
    double error = may_gain_much ? 0.3 : 0.1;
    double variance = mean->rate_squares / (mean->n - 1) / mean->n;
    return mean->n >= MOST_SAMPLES / 2 || variance <= error * error * mean->rate * mean->rate;
}

static void choose_when_waiting(pfd_autotune *t, const pfd_tune_period *period)
{
    int32_t usual = t->bounds.usual_threads, has_idle = t->idle >= much_idle;
    if (has_idle && choose_threads_of_cheap_work(t, period)) return;
    if (has_idle && choose_prefetch(t, period)) return;
    int32_t state = t->state, may_be_few = has_idle && t->num_threads < usual;
    if (may_be_few && !is_resting(t, PFD_TUNE_MORE_THREADS)) {
        (void)try(t, PFD_TUNE_MORE_THREADS, usual, t->factor, period);
        return;
    }
    if (t->idle < mostly_idle && choose_threads(t, period)) return;
    if (has_idle) t->state = state;
    else if (t->idle >= some_idle && choose_prefetch(t, period)) return;
    if (t->factor > 1 && !is_resting(t, PFD_TUNE_LESS_PREFETCH))
        (void)try(t, PFD_TUNE_LESS_PREFETCH, t->num_threads, t->factor / 2, period);
}

static void choose(pfd_autotune *t, const pfd_tune_period *period)
{
    t->calm = t->wait < calm_wait ? t->calm + 1 : 0;
    if (!is_known(t) || t->strange) return;
    if (t->wait < some_wait) choose_when_calm(t, period);
    else if (t->former_threads > t->num_threads) use_again(t, period);
    else if (t->lost <= 0) choose_when_waiting(t, period);
}

/* What trials have lost, in periods of work.  No trial begins before that is earned. */
static void note_loss(pfd_autotune *t, const pfd_tune_period *period)
{
    t->lost -= earned;
    if (t->lost < -credit) t->lost = -credit;
    if (t->trial.kind < 0 || !t->trial.is_on) return;
    double left = period->ranges_per_s / at_least(t->trial.last.rate, 1e-9);
    t->lost += toll + at_least(1 - left, -most_made_up);
}

static void step(pfd_autotune *t, const pfd_tune_period *period)
{
    note_loss(t, period);
    if (t->settling > 0) {
        t->settling--;
        return;
    }
    for (int32_t i = 0; i < PFD_TUNE_KINDS; i++) t->ways[i].left -= t->ways[i].left > 0;
    int32_t is_trial = t->trial.kind >= 0;
    if (!is_trial || !t->trial.is_on) {
        note_change(t, period);
        note_recent(t, period);
        add(&t->now, period);
    }
    if (is_trial) {
        add(&t->window, period);
        judge(t);
    } else {
        choose(t, period);
    }
}

int32_t pfd_autotune_step(pfd_autotune *t, const pfd_tune_period *period)
{
    int32_t num_threads = t->num_threads, prefetch = t->prefetch;
    step(t, period);
    return t->num_threads != num_threads || t->prefetch != prefetch;
}

/* ---- The periods ----------------------------------------------------------------------------- */

#define PAUSE_NS INT64_C(1000000000) /* longer than batches ahead can cover */

/* A period goes on until it has this number of steps, or of row ranges: fewer tell too little. */
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

pfd_thread_usage pfd_tuning_usage(const pfd_threads *threads, int32_t num_threads)
{
    pfd_thread_usage usage = {0};
    for (int32_t i = 0; i < num_sampled(num_threads); i++)
        pfd_thread_usage_add_times(pfd_thread_pool_system_id(threads->pool, i), &usage);
    return usage;
}

/* The first batches of epochs are made ahead as any other, where there was no seek. */
static pfd_tuning_counts count(const pfd_counters *counters, const pfd_threads *threads,
                               const pfd_thread_usage *usage)
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
                               .process_ns = pfd_process_cpu_ns(),
                               .usage = *usage};
}

static void begin_period(pfd_tuning *tuning, pfd_counters *counters, const pfd_tuning_counts *now)
{
    const pfd_autotune *t = &tuning->tuner;
    int32_t is_of_threads = t->trial.kind >= 0 && t->trial.threads != t->trial.from_threads;
    int32_t is_first = t->num_decisions == 0 || (t->num_decisions == 1 && is_of_threads);
    tuning->is_measuring = 1;
    tuning->due_ns = now->now_ns + (is_first ? FIRST_PERIOD_NS : PERIOD_NS);
    tuning->begin = *now;
    counters->steps.longest_train_ns = 0;
    counters->was_full = 0;
}

void pfd_tuning_begin(pfd_tuning *tuning, pfd_counters *counters, const pfd_threads *threads,
                      const pfd_thread_usage *usage)
{
    pfd_tuning_counts now = count(counters, threads, usage);
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
    int64_t process_ns = now->process_ns - begin->process_ns;
    int64_t wait_ns = now->wait_ns - begin->wait_ns, train_ns = now->train_ns - begin->train_ns;
    *out = (pfd_tune_period){
        .end_ns = now->now_ns,
        .ranges_per_s = (double)chunks * 1e9 / (double)ns,
        .batches_per_s = (double)(now->batches_made - begin->batches_made) * 1e9 / (double)ns,
        .thrift = process_ns > 0 ? (double)chunks * 1e9 / (double)process_ns : 0,
        .wait = share(wait_ns, wait_ns + train_ns),
        .idle = share(now->idle_ns - begin->idle_ns, now->thread_ns - begin->thread_ns),
        .is_full = counters->was_full,
        .has_memory = !counters->no_memory_since_ns && now->no_memory_ns == begin->no_memory_ns};
    int64_t thread_ns = num_sampled(num_threads) * ns;
    double computed = share(now->usage.cpu_ns - begin->usage.cpu_ns, thread_ns);
    double left = 1 - out->idle - computed;
    out->in_line = share(now->usage.runnable_ns - begin->usage.runnable_ns, thread_ns);
    out->blocked = left > out->in_line ? left - out->in_line : 0;
    return 1;
}

static int32_t was_paused(const pfd_tuning *tuning, const pfd_steps *steps, int64_t now_ns)
{
    int64_t pause_ns = steps->longest_train_ns;
    return pause_ns > PAUSE_NS && 2 * pause_ns > now_ns - tuning->begin.now_ns;
}

int32_t pfd_tuning_end(pfd_tuning *tuning, pfd_counters *counters, const pfd_threads *threads,
                       int32_t num_threads, const pfd_thread_usage *usage)
{
    pfd_tuning_counts now = count(counters, threads, usage);
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
                             .blocked = tuner->blocked,
                             .in_line = tuner->in_line};
}

pfd_status pfd_tuning_get_decision(const pfd_tuning *tuning, int64_t i, pfd_decision *out)
{
    int64_t made = tuning->tuner.num_decisions;
    int64_t first = made > PFD_KEPT_DECISIONS ? made - PFD_KEPT_DECISIONS : 0;
    if (i < 0 || first + i >= made) return PFD_END;
    *out = tuning->tuner.decisions[(first + i) % PFD_KEPT_DECISIONS];
    return PFD_OK;
}
