/* loader/watch/tuning.h -- how many threads work for a loader, and how many batches it makes ahead,
 * found while it runs.
 *
 * A search by trial. While a program waits for batches, something is tried that may help: more
 * threads where their work is blocked, fewer where they take turns at a lock or wait in line for
 * longer than they compute, more batches ahead where threads are idle at other times. A trial
 * alternates: each window of a few tenths of a second with the tried numbers lies between two
 * windows with the former numbers, and is compared with these, so that a load that drifts does not
 * distort the result; one window is enough if it does three times the work. A change that gains
 * more than chance explains is kept. Otherwise the next trial of its kind comes after a pause that
 * doubles with each failure, and only when the work that trials have lost is earned back: trials
 * may cost 2 % of the work, and a trial ends when that is spent. While the program does not wait,
 * threads beyond the usual number are given back.
 *
 * Besides the rate there is thrift: ranges made for each second of the process's processor time.
 * Others on the machine disturb it little, so that it tells settings of cheap batches apart long
 * before the rate does.
 *
 * The search, pfd_autotune, knows neither a clock nor a loader: its periods come from pfd_tuning,
 * which measures them, or from a test.  The ring applies what is found.  The order of batches and
 * the state of a loader depend on neither number: batches are numbered when they are started,
 * whatever number of them is in flight.
 *
 * THREADS  pfd_tuning: with the loader's `consumer` and `lock` held, unless a comment says
 *          otherwise.
 */
#ifndef PFD_LOADER_WATCH_TUNING_H
#define PFD_LOADER_WATCH_TUNING_H
#include "loader/watch/counters.h"

/* ---- The search ------------------------------------------------------------------------------ */

/* What a loader did in a period in which nothing was changed. */
typedef struct pfd_tune_period {
    int64_t end_ns;
    double ranges_per_s;  /* row ranges made: they count parts of batches, too */
    double batches_per_s; /* made */
    double thrift;        /* ranges made in a second of the process's processor time; 0: unknown */
    double wait;          /* share of the time in which the program waited for batches */
    double idle;          /* share of the threads' time without work */
    double blocked;       /* share of it in which work neither computed nor could have */
    double in_line;       /* share of it in which work waited for a processor */
    int32_t is_full;      /* so many batches were in flight as `prefetch` allows */
    int32_t has_memory;   /* for another batch */
} pfd_tune_period;

typedef struct pfd_tune_bounds {
    int32_t tunes_threads, tunes_prefetch;
    int32_t num_processors, usual_threads, most_threads;
    int32_t prefetch; /* as it stays; 0: as many as usual, or more if tunes_prefetch */
    int32_t most_prefetch;
    int32_t (*usual_prefetch)(const void *plan, int32_t num_threads);
    const void *plan;
} pfd_tune_bounds;

#define PFD_MOST_FACTOR 8 /* multiple of the usual prefetch */

/* Mean and spread of ranges per second, of the share of time without waiting, and of thrift. */
typedef struct pfd_tune_mean {
    double n, rate, rate_squares, use, use_squares, thrift, thrift_squares, idle, batches_per_s;
} pfd_tune_mean;

/* One kind of trial. */
typedef struct pfd_tune_way {
    int32_t pause, left; /* periods between trials; of them until the next one */
    int32_t stride;      /* threads more or fewer */
} pfd_tune_way;

/* What windows of a trial have gained, relative to those beside them. */
typedef struct pfd_tune_gain {
    double n, mean, squares;
} pfd_tune_gain;

typedef struct pfd_tune_trial {
    int32_t kind;               /* PFD_TUNE_*, -1: none */
    int32_t is_on;              /* the numbers tried are in use, not those before */
    int32_t threads, factor;    /* that are tried */
    int32_t from_threads, from_factor;
    int32_t periods_per_window;
    pfd_tune_mean last, tried;  /* the last window of the numbers before, and of those tried */
    pfd_tune_gain rate, use, thrift;
} pfd_tune_trial;

typedef struct pfd_autotune {
    pfd_tune_bounds bounds;
    int32_t num_threads, prefetch; /* to be used */
    int32_t factor;                /* multiple of the usual prefetch */
    int32_t state;                 /* PFD_TUNING_* */
    int32_t settling;              /* periods to be left out */
    int32_t calm;                  /* periods without waiting */
    int32_t former_threads;        /* before some were given back; 0: none were */
    int32_t strange, since_change, change_pause; /* periods; see note_change() */
    int32_t is_fresh;                            /* no recent share is known */
    double wait, idle, blocked, in_line;         /* recent shares */
    double lost;                                 /* periods of work, by trials, less those earned */
    pfd_tune_trial trial;
    pfd_tune_mean window;      /* of the trial */
    pfd_tune_mean now, before; /* since the last change, trials left out; before the trial */
    pfd_tune_way ways[PFD_TUNE_KINDS];
    int64_t num_decisions;
    pfd_decision decisions[PFD_KEPT_DECISIONS]; /* the last ones, as a ring */
} pfd_autotune;

void pfd_autotune_open(pfd_autotune *tuner, const pfd_tune_bounds *bounds);

/* Takes a period into account.  Returns 1 if num_threads or prefetch has changed. */
int32_t pfd_autotune_step(pfd_autotune *tuner, const pfd_tune_period *period);

/* The system has started only `num_threads` threads: the search uses no more. */
void pfd_autotune_limit(pfd_autotune *tuner, int32_t num_threads);

/* ---- The periods ----------------------------------------------------------------------------- */

/* What is counted of a loader up to a moment; a period lies between two of them. */
typedef struct pfd_tuning_counts {
    int64_t now_ns, num_chunks, thread_ns, idle_ns, steps, wait_ns, train_ns, batches_made;
    int64_t no_memory_ns, process_ns;
    pfd_thread_usage usage; /* of the threads that the kernel is asked about */
} pfd_tuning_counts;

/* Makes no thread of its own: a period ends with the delivery of a batch. */
typedef struct pfd_tuning {
    pfd_autotune tuner;
    int32_t is_measuring;    /* a period */
    int64_t due_ns;          /* when it may end */
    pfd_tuning_counts begin; /* counts at its beginning */
} pfd_tuning;

pfd_status pfd_tuning_open(const pfd_tune_bounds *bounds, pfd_tuning **out, pfd_error *err);

/* The loader has moved to another place of the order: the current period does not count. */
void pfd_tuning_restart(pfd_tuning *tuning);

/* How long threads computed, and waited for a processor.  Call it without `lock`: it opens
 * files. */
pfd_thread_usage pfd_tuning_usage(const pfd_threads *threads, int32_t num_threads);

void pfd_tuning_begin(pfd_tuning *tuning, pfd_counters *counters, const pfd_threads *threads,
                      const pfd_thread_usage *usage);

/* Whether a period may be over with the batch that was just delivered.  If so, call end(), which
 * returns 1 if other numbers are to be applied; then call begin(). */
static inline int32_t pfd_tuning_is_due(const pfd_tuning *tuning, const pfd_counters *counters)
{
    return tuning && counters->steps.delivered_ns >= tuning->due_ns;
}
int32_t pfd_tuning_end(pfd_tuning *tuning, pfd_counters *counters, const pfd_threads *threads,
                       int32_t num_threads, const pfd_thread_usage *usage);

/* For reports: what is tuned, and the i-th of the last decisions; PFD_END: there is none. */
pfd_tuning_info pfd_tuning_get_info(const pfd_tuning *tuning);
pfd_status pfd_tuning_get_decision(const pfd_tuning *tuning, int64_t i, pfd_decision *out);
#endif
