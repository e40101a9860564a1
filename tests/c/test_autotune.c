/* The search for numbers of threads and batches ahead, on models of loaders and programs: no clock,
 * no thread. */
#include "check.h"

#include "loader/watch/tuning.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- Models ---------------------------------------------------------------------------------- */

/* What a loader can make, and what a program takes. */
typedef struct model {
    double demand;  /* batches/s that the program takes if it never waits */
    double alone;   /* batches/s that one thread makes */
    double most;    /* threads after which more do not help; 0: none */
    double penalty; /* share that each thread after those costs */
    double blocked; /* share of the work that neither computes nor could */
    double bursts;  /* the program waits so much of the time with a prefetch of 1 ... */
    double enough;  /* ... and not at all with this one; threads are half idle */
    double noise;   /* of one period, up and down */
} model;

static uint64_t dice = 1;

static double one_of(double noise)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return 1 + noise * (2 * (double)(dice >> 40) / (double)(1 << 24) - 1);
}

static double capacity(const model *of, int32_t threads)
{
    double useful = of->most > 0 && threads > of->most ? of->most : threads;
    return of->alone * useful * (1 - of->penalty * (threads - useful));
}

static pfd_tune_period run(const model *of, const pfd_autotune *t)
{
    double can = capacity(of, t->num_threads) * one_of(of->noise);
    double rate = can < of->demand ? can : of->demand;
    pfd_tune_period period = {.ranges_per_s = 10 * rate,
                              .batches_per_s = rate,
                              .wait = 1 - rate / of->demand,
                              .idle = 1 - rate / can,
                              .is_full = 1,
                              .has_memory = 1};
    if (of->bursts > 0 && t->prefetch < of->enough) {
        period.wait = of->bursts * (1 - t->prefetch / of->enough) * one_of(of->noise);
        period.idle = 0.5;
        period.batches_per_s = of->demand * (1 - period.wait);
        period.ranges_per_s = 10 * period.batches_per_s;
    }
    period.blocked = of->blocked * (1 - period.idle);
    return period;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static int32_t twice_and_two(const void *plan, int32_t num_threads)
{
    (void)plan;
    return 2 * num_threads + 2;
}

static const pfd_tune_bounds four_processors = {.tunes_threads = 1,
                                                .tunes_prefetch = 1,
                                                .num_processors = 4,
                                                .usual_threads = 4,
                                                .most_threads = 32,
                                                .most_prefetch = 100,
                                                .usual_prefetch = twice_and_two};

/* Runs so many periods; returns how often something changed, and checks the bounds. */
static int32_t run_for(pfd_autotune *t, const model *of, int32_t periods)
{
    int32_t changes = 0;
    for (int32_t i = 0; i < periods; i++) {
        pfd_tune_period period = run(of, t);
        int32_t threads = t->num_threads, prefetch = t->prefetch;
        int32_t changed = pfd_autotune_step(t, &period);
        CHECK(changed == (threads != t->num_threads || prefetch != t->prefetch));
        changes += changed;
        CHECK(t->num_threads >= 1 && t->num_threads <= t->bounds.most_threads);
        CHECK(t->prefetch >= 1 && t->prefetch <= t->bounds.most_prefetch);
        CHECK(t->bounds.tunes_threads || t->num_threads == t->bounds.usual_threads);
        CHECK(!t->bounds.prefetch || t->prefetch == t->bounds.prefetch);
    }
    return changes;
}

/* The batches/s that the program gets with what was found, trials left out. */
static double found(const pfd_autotune *t, const model *of)
{
    pfd_autotune at = *t;
    if (at.trial >= 0)
        at.num_threads = at.decisions[(at.num_decisions - 1) % PFD_KEPT_DECISIONS].from_threads;
    double can = capacity(of, at.num_threads);
    return can < of->demand ? can : of->demand;
}

static const pfd_decision *last(const pfd_autotune *t)
{
    return &t->decisions[(t->num_decisions - 1) % PFD_KEPT_DECISIONS];
}

static const double noises[] = {0, 0.03, 0.1, 0.25};
enum { NOISES = sizeof noises / sizeof noises[0] };

/* Where threads compute and no processor is free, nothing is tried, whatever the noise. */
static void test_processors_are_the_limit(void)
{
    for (int32_t i = 0; i < NOISES; i++) {
        model of = {.demand = 1e4, .alone = 100, .most = 4, .noise = noises[i]};
        pfd_autotune t;
        pfd_autotune_open(&t, &four_processors);
        CHECK(run_for(&t, &of, 1000) == 0);
        CHECK(t.num_threads == 4 && t.prefetch == 10 && t.state == PFD_TUNING_COMPUTING);
    }
}

/* Work that waits for something else than a processor: the number of threads that it can use. */
static void test_latency(void)
{
    for (int32_t i = 0; i < NOISES; i++)
        for (double most = 1; most <= 40; most += most < 8 ? 1 : 7) {
            model of = {
                .demand = 1e5, .alone = 50, .most = most, .blocked = 0.95, .noise = noises[i]};
            pfd_autotune t;
            pfd_autotune_open(&t, &four_processors);
            (void)run_for(&t, &of, 120); /* seconds */
            double best = 50 * (most < 32 ? most : 32), loss = noises[i] < 0.2 ? 0.95 : 0.7;
            CHECK(found(&t, &of) >= loss * best);
            (void)run_for(&t, &of, 2000);
            CHECK(found(&t, &of) >= loss * best);
            CHECK(t.num_threads >= 4 || t.trial >= 0); /* fewer than usual gain nothing here */
        }
}

/* Under a lock, more threads than one gain nothing, or lose. */
static void test_lock(void)
{
    for (int32_t i = 0; i < NOISES; i++)
        for (double penalty = 0; penalty < 0.1; penalty += 0.03) {
            model of = {.demand = 1e4,
                        .alone = 300,
                        .most = 1,
                        .penalty = penalty,
                        .blocked = 0.7,
                        .noise = noises[i]};
            pfd_autotune t;
            pfd_autotune_open(&t, &four_processors);
            (void)run_for(&t, &of, 1000);
            CHECK(found(&t, &of) >= capacity(&of, 4) * 0.99);
            if (noises[i] == 0 && penalty > 0) CHECK(found(&t, &of) >= 0.98 * 300);
        }
}

/* A program that does not wait: threads that are idle go, as long as those left have time. */
static void test_training_is_the_limit(void)
{
    for (int32_t i = 0; i < 3; i++) {
        model of = {.demand = 60, .alone = 100, .noise = noises[i]};
        pfd_autotune t;
        pfd_autotune_open(&t, &four_processors);
        CHECK(run_for(&t, &of, 20) == 0); /* not at once */
        CHECK(run_for(&t, &of, 1000) <= 3);
        CHECK(t.num_threads == 2 && t.state == PFD_TUNING_CALM);
        CHECK(last(&t)->kind == PFD_TUNE_IDLE_THREADS);
        of.demand = 1000; /* another epoch, another program: it waits */
        (void)run_for(&t, &of, 12);
        CHECK(t.num_threads == 4);
    }
}

/* Batches are made many at a time: threads that are idle half the time are not all idle. */
static void test_training_is_the_limit_and_work_comes_in_waves(void)
{
    pfd_autotune t;
    pfd_autotune_open(&t, &four_processors);
    for (int32_t i = 0; i < 2000; i++) {
        int32_t busy = i % 16 < 8;
        pfd_tune_period period = {
            .ranges_per_s = busy * 100, .idle = !busy, .is_full = 1, .has_memory = 1};
        CHECK(!pfd_autotune_step(&t, &period));
    }
    CHECK(t.state == PFD_TUNING_CALM);
}

/* Idle threads and a program that waits at times: batches ahead, and no more than help. */
static void test_bursts(void)
{
    for (int32_t i = 0; i < 3; i++) {
        model of = {.demand = 100, .alone = 100, .bursts = 0.4, .enough = 30, .noise = noises[i]};
        pfd_autotune t;
        pfd_autotune_open(&t, &four_processors);
        (void)run_for(&t, &of, 100);
        CHECK(t.prefetch == 40);
        of.enough = 1e9; /* however many: an empty queue does not grow for ever */
        pfd_autotune_open(&t, &four_processors);
        CHECK(run_for(&t, &of, 1000) < 40);
        CHECK(t.trial >= 0 || t.prefetch == 10);
    }
    model of = {.demand = 110, .alone = 30, .bursts = 0.4, .enough = 75, .noise = 0.05};
    pfd_autotune shrinks;
    pfd_autotune_open(&shrinks, &four_processors);
    (void)run_for(&shrinks, &of, 150);
    CHECK(shrinks.prefetch == 80);
    of = (model){.demand = 1000, .alone = 30, .most = 4, .noise = 0.05}; /* for nothing now */
    (void)run_for(&shrinks, &of, 300);
    CHECK(shrinks.prefetch == 10);
    of = (model){.demand = 100, .alone = 100, .bursts = 0.4, .enough = 1000};
    pfd_autotune t;
    pfd_tune_bounds bounds = four_processors;
    bounds.most_prefetch = 25; /* run_for() checks it */
    pfd_autotune_open(&t, &bounds);
    (void)run_for(&t, &of, 300);
    bounds.tunes_prefetch = 0;
    pfd_autotune_open(&t, &bounds);
    CHECK(run_for(&t, &of, 300) == 0);
    pfd_autotune_open(&t, &four_processors);
    for (int32_t k = 0; k < 300; k++) { /* no memory: none are asked for */
        pfd_tune_period period = run(&of, &t);
        period.has_memory = 0;
        CHECK(!pfd_autotune_step(&t, &period));
    }
}

/* In a steady load, however noisy, changes become rare. */
static void test_it_does_not_oscillate(void)
{
    static const model loads[] = {
        {.demand = 1e5, .alone = 50, .most = 5, .blocked = 0.9},
        {.demand = 1e5, .alone = 50, .most = 5, .penalty = 0.02, .blocked = 0.9},
        {.demand = 390, .alone = 50, .most = 20, .blocked = 0.9}, /* barely enough threads */
        {.demand = 205, .alone = 50, .most = 4}, /* waits of 2 % */
        {.demand = 60, .alone = 100},
        {.demand = 100, .alone = 100, .bursts = 0.04, .enough = 50},
    };
    for (size_t m = 0; m < sizeof loads / sizeof loads[0]; m++)
        for (int32_t i = 0; i < NOISES; i++) {
            model of = loads[m];
            of.noise = noises[i];
            pfd_autotune t;
            pfd_autotune_open(&t, &four_processors);
            int32_t first = run_for(&t, &of, 1000), second = run_for(&t, &of, 1000);
            CHECK(first <= 50 && second <= 25);
        }
}

/* Another load is noticed in seconds, also long after the last trial. */
static void test_a_changing_load(void)
{
    for (int32_t i = 0; i < 3; i++) {
        model of = {.demand = 1e5, .alone = 50, .most = 4, .blocked = 0.9, .noise = noises[i]};
        pfd_autotune t;
        pfd_autotune_open(&t, &four_processors);
        (void)run_for(&t, &of, 5000);
        of.alone = 10; /* slower storage, but it serves more at once */
        of.most = 24;
        (void)run_for(&t, &of, 60);
        CHECK(found(&t, &of) >= 0.9 * 240);
        of.alone = 100;
        of.most = 2;
        (void)run_for(&t, &of, 400);
        CHECK(found(&t, &of) >= 0.95 * 200 && t.num_threads <= 12);
        of.demand = 20; /* and now the program is slow */
        (void)run_for(&t, &of, 600);
        CHECK(t.num_threads <= 4 && found(&t, &of) == 20);
    }
}

/* What is said about it. */
static void test_decisions(void)
{
    model of = {.demand = 1e5, .alone = 50, .most = 8, .blocked = 0.95};
    pfd_autotune t;
    pfd_autotune_open(&t, &four_processors);
    CHECK(t.state == PFD_TUNING_MEASURING && t.trial == -1);
    while (t.trial < 0) (void)run_for(&t, &of, 1);
    CHECK(t.state == PFD_TUNING_TRYING && last(&t)->outcome == PFD_TUNE_TRYING);
    CHECK(last(&t)->from_threads == 4 && last(&t)->to_threads == 8);
    CHECK(last(&t)->from_prefetch == 10 && last(&t)->to_prefetch == 18);
    (void)run_for(&t, &of, 4);
    const pfd_decision *kept = &t.decisions[0];
    CHECK(kept->kind == PFD_TUNE_MORE_THREADS && kept->outcome == PFD_TUNE_KEPT);
    CHECK(fabs(kept->batches_per_s_before - 200) < 1e-6);
    CHECK(fabs(kept->batches_per_s_after - 400) < 1e-6);
    (void)run_for(&t, &of, 7);
    const pfd_decision *back = &t.decisions[1];
    CHECK(back->to_threads == 16 && back->outcome == PFD_TUNE_TAKEN_BACK);
    CHECK(t.num_threads == 8 && t.state == PFD_TUNING_TRIED);
    pfd_autotune_limit(&t, 8);
    (void)run_for(&t, &of, 200);
    CHECK(t.bounds.most_threads == 8 && t.num_threads <= 8);
    pfd_tune_bounds fixed = four_processors;
    fixed.tunes_threads = 0;
    pfd_autotune_open(&t, &fixed);
    CHECK(run_for(&t, &of, 300) == 0);
}

int main(void)
{
    test_processors_are_the_limit();
    test_latency();
    test_lock();
    test_training_is_the_limit();
    test_training_is_the_limit_and_work_comes_in_waves();
    test_bursts();
    test_it_does_not_oscillate();
    test_a_changing_load();
    test_decisions();
    return report();
}
