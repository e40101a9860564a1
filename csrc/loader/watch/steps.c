/* Steps: time in next(), time between two calls, and their course. */
#include "loader/watch/steps.h"

#include "core/cpu.h"

#include <stdlib.h>
#include <string.h>

static const int64_t first_period_ns = 50 * 1000 * 1000;

void pfd_steps_ask(pfd_steps *steps, int64_t now_ns, int32_t is_ready)
{
    if (steps->asks) return;
    steps->asks = 1;
    steps->asked_ns = now_ns;
    steps->was_ready = is_ready;
}

void pfd_steps_forget(pfd_steps *steps)
{
    steps->asks = 0;
}

void pfd_steps_restart(pfd_steps *steps)
{
    steps->asks = 0;
    steps->is_restart = 1;
}

int32_t pfd_steps_pause(pfd_steps *steps)
{
    if (!steps->kept) {
        pfd_steps *kept = malloc(sizeof *kept);
        if (!kept) return 0;
        *kept = *steps;
        steps->kept = kept;
    }
    steps->pauses++;
    return 1;
}

void pfd_steps_resume(pfd_steps *steps)
{
    if (--steps->pauses > 0) return;
    pfd_steps *kept = steps->kept;
    *steps = *kept;
    free(kept);
    pfd_steps_restart(steps);
}

static void add_period(pfd_period *to, const pfd_period *more)
{
    to->batches += more->batches;
    to->rows += more->rows;
    to->wait_ns += more->wait_ns;
    to->ready += more->ready;
}

/* Joins periods in pairs, and so makes room for as many again. */
static void join_periods(pfd_history *history)
{
    for (int32_t i = 0; i < PFD_MOST_PERIODS / 2; i++) {
        pfd_period joined = history->periods[2 * i];
        add_period(&joined, &history->periods[2 * i + 1]);
        history->periods[i] = joined;
    }
    memset(&history->periods[PFD_MOST_PERIODS / 2], 0, sizeof history->periods / 2);
    history->period_ns *= 2;
}

/* Goes to the period of a moment after the last one. */
static void go_on(pfd_steps *steps, int64_t now_ns)
{
    pfd_history *history = &steps->history;
    if (!history->period_ns) {
        history->begin_ns = steps->asked_ns;
        history->period_ns = first_period_ns;
    }
    while ((now_ns - history->begin_ns) / history->period_ns >= PFD_MOST_PERIODS)
        join_periods(history);
    history->num_periods = (int32_t)((now_ns - history->begin_ns) / history->period_ns) + 1;
    steps->period_end_ns = history->begin_ns + history->num_periods * history->period_ns;
}

static void note_duration(int64_t *counts, int64_t ns)
{
    int32_t power = ns < 1 ? 0 : 63 - __builtin_clzll((unsigned long long)ns);
    counts[power < PFD_DURATIONS ? power : PFD_DURATIONS - 1]++;
}

/* Counts the wait for a batch; returns the moment at which it ended. A batch that was ready needs
 * no clock. */
static int64_t note_wait(pfd_steps *steps, int32_t is_start)
{
    int64_t now_ns = pfd_clock_ns(), wait_ns = now_ns - steps->asked_ns;
    if (now_ns >= steps->period_end_ns) go_on(steps, now_ns);
    steps->history.periods[steps->history.num_periods - 1].wait_ns += wait_ns;
    if (is_start) {
        steps->start_ns += wait_ns;
        return now_ns;
    }
    steps->waited_steps++;
    steps->wait_ns += wait_ns;
    note_duration(steps->history.waits, wait_ns);
    return now_ns;
}

void pfd_steps_deliver(pfd_steps *steps, int64_t step, int64_t rows, int64_t num_ready)
{
    pfd_history *history = &steps->history;
    int32_t is_start = step == 0 || steps->is_restart || !steps->delivered_ns;
    int64_t train_ns = steps->asked_ns - steps->delivered_ns;
    if (steps->delivered_ns && train_ns > steps->longest_train_ns)
        steps->longest_train_ns = train_ns;
    if (is_start) {
        steps->starts++;
    } else {
        steps->steps++;
        steps->train_ns += train_ns;
        note_duration(history->trains, train_ns);
    }
    steps->delivered_ns = steps->asked_ns;
    if (!steps->was_ready)
        steps->delivered_ns = note_wait(steps, is_start);
    else if (steps->asked_ns >= steps->period_end_ns)
        go_on(steps, steps->asked_ns);
    pfd_period *period = &history->periods[history->num_periods - 1];
    period->batches++;
    period->rows += rows;
    period->ready += num_ready;
    steps->asks = steps->is_restart = 0;
}
