/* Steps and their course over time, and the estimates from measured row ranges. */
#include "check.h"

#include "core/cpu.h"
#include "loader/watch/counters.h"
#include "loader/watch/work.h"

#include <string.h>

/* Batches that are ready when they are asked for: the moments are those of the questions. */
static void deliver_ready(pfd_steps *steps, int64_t now_ns, int64_t step)
{
    pfd_caller caller = {0};
    pfd_steps_ask(steps, &caller, now_ns, 1);
    pfd_steps_deliver(steps, now_ns, step, 8, 3);
}

static void counts_starts_apart(void)
{
    pfd_steps steps = {0};
    int64_t now = 1000;
    for (int64_t epoch = 0; epoch < 3; epoch++)
        for (int64_t step = 0; step < 5; step++, now += 100) deliver_ready(&steps, now, step);
    CHECK(steps.starts == 3 && steps.steps == 12);
    CHECK(steps.train_ns == 12 * 100 && steps.wait_ns == 0 && steps.waited_steps == 0);
    pfd_steps_restart(&steps); /* a seek to the middle of an epoch */
    deliver_ready(&steps, now, 2);
    CHECK(steps.starts == 4 && steps.steps == 12);
}

static void counts_a_wait_once(void)
{
    pfd_steps steps = {0};
    const int64_t since = INT64_C(1000000000);
    pfd_caller caller = {0};
    deliver_ready(&steps, since - 2000000, 0);
    pfd_steps_ask(&steps, &caller, since, 0);
    pfd_steps_return(&steps, since + 3000000);
    pfd_steps_ask(&steps, &caller, since + 4000000, 0); /* next() again, which looked for signals */
    pfd_steps_deliver(&steps, since + 5000000, 1, 8, 0);
    CHECK(steps.steps == 1 && steps.waited_steps == 1);
    CHECK(steps.wait_ns == 5000000 && steps.next_ns == 5000000);
    CHECK(steps.train_ns == 2000000);
    int64_t counted = 0;
    for (int32_t i = 0; i < PFD_DURATIONS; i++) {
        int64_t most = steps.wait_ns >> i;
        counted += steps.history.waits[i];
        CHECK(steps.history.waits[i] == (most == 1)); /* 2^i <= wait < 2^(i + 1) */
    }
    CHECK(counted == 1 && steps.history.trains[20] == 1); /* 2^20 ns <= 2 ms < 2^21 ns */
}

static void a_question_is_forgotten(void)
{
    pfd_steps steps = {0};
    deliver_ready(&steps, 100, 0);
    pfd_caller caller = {0};
    pfd_steps_ask(&steps, &caller, 200, 1);
    pfd_steps_forget(&steps, 300, 0); /* an exception took its place */
    deliver_ready(&steps, 700, 1);
    CHECK(steps.train_ns == 600);
}

/* The time of the caller, in all its calls and between them, is the sum of what it was spent on. */
static void the_parts_are_the_whole(void)
{
    pfd_steps steps = {0};
    pfd_caller caller = {0};
    pfd_steps_ask(&steps, &caller, 1000, 0);
    pfd_steps_spend(&steps, PFD_TIME_WAIT, 200);
    pfd_steps_return(&steps, 1300); /* not complete: 100 of the library's own */
    caller.took_ns = 1310;
    pfd_steps_ask(&steps, &caller, 1320, 0);
    pfd_steps_spend(&steps, PFD_TIME_HELP, 50);
    pfd_steps_spend(&steps, PFD_TIME_CHECK, 20);
    pfd_steps_deliver(&steps, 1400, 0, 8, 0);
    caller = (pfd_caller){.took_ns = 1405, .made_ns = 1500, .converted_ns = 1700};
    CHECK(steps.start_ns == 400 && steps.counted_ns == 1400);
    pfd_steps_ask(&steps, &caller, 2700, 1);
    pfd_steps_deliver(&steps, 2710, 1, 8, 0);
    caller = (pfd_caller){.took_ns = 2711, .made_ns = 2720, .converted_ns = 1700};
    pfd_steps_ask(&steps, &caller, 3000, 1);
    pfd_steps_forget(&steps, 3040, 1); /* the end of the epoch */
    caller = (pfd_caller){.took_ns = 3041, .made_ns = 3050};
    pfd_steps_ask(&steps, &caller, 4000, 1);
    const int64_t *times = steps.times;
    CHECK(times[PFD_TIME_WAIT] == 200 && times[PFD_TIME_HELP] == 50);
    CHECK(times[PFD_TIME_CHECK] == 20 && times[PFD_TIME_LOCK] == 10 + 5 + 1 + 1);
    CHECK(times[PFD_TIME_HAND_OUT] == 100 + 10 + 10 + 95 + 10 + 9);
    CHECK(times[PFD_TIME_CONVERT] == 200 && times[PFD_TIME_TURN] == 40 + 9);
    CHECK(times[PFD_TIME_OUTSIDE] == 1000 + 280 && times[PFD_TIME_BETWEEN] == 950);
    CHECK(steps.start_ns == 700 + 50 && steps.next_ns == 20 && steps.train_ns == 1000);
    int64_t all = 0;
    for (int32_t i = 0; i < PFD_NUM_TIMES; i++) all += times[i];
    CHECK(all == 3000);
}

static void counts_in_a_pause_do_not_last(void)
{
    pfd_steps steps = {0};
    for (int64_t step = 0; step < 3; step++) deliver_ready(&steps, 100 * (step + 1), step);
    pfd_history before = steps.history;
    pfd_caller caller = {0};
    REQUIRE(pfd_steps_pause(&steps, &caller, 300) && pfd_steps_pause(&steps, &caller, 300));
    for (int64_t step = 0; step < 9; step++) deliver_ready(&steps, 1000 * (step + 1), step);
    pfd_steps_resume(&steps, 10000);
    CHECK(steps.steps == 2 + 8 && steps.starts == 2); /* one is still open */
    deliver_ready(&steps, 20000, 9);
    pfd_steps_resume(&steps, 20000);
    CHECK(steps.steps == 2 && steps.starts == 1 && steps.train_ns == 200 && !steps.kept);
    CHECK(memcmp(&steps.history, &before, sizeof before) == 0);
    deliver_ready(&steps, 30000, 3); /* the time in between is of no step */
    CHECK(steps.steps == 2 && steps.starts == 2 && steps.train_ns == 200);
}

/* The sums stay when periods are joined, and each batch is in the period of its moment. */
static void periods_are_joined(void)
{
    pfd_steps steps = {0};
    const int64_t begin = 7000, gap = 20 * 1000 * 1000, batches = 5000;
    for (int64_t i = 0; i < batches; i++) deliver_ready(&steps, begin + i * gap, i);
    const pfd_history *history = &steps.history;
    int64_t found = 0, rows = 0, ready = 0;
    CHECK(history->begin_ns == begin && history->num_periods <= PFD_MOST_PERIODS);
    CHECK(history->num_periods > PFD_MOST_PERIODS / 2);
    for (int32_t p = 0; p < history->num_periods; p++) {
        int64_t from = p * history->period_ns, to = from + history->period_ns, expected = 0;
        for (int64_t i = 0; i < batches; i++) expected += i * gap >= from && i * gap < to;
        CHECK(history->periods[p].batches == expected);
        found += history->periods[p].batches;
        rows += history->periods[p].rows;
        ready += history->periods[p].ready;
    }
    CHECK(found == batches && rows == 8 * batches && ready == 3 * batches);
}

static void a_long_pause_is_one_period_or_more(void)
{
    pfd_steps steps = {0};
    deliver_ready(&steps, 1, 0);
    deliver_ready(&steps, INT64_C(3600) * 1000000000, 1); /* an hour later */
    CHECK(steps.history.num_periods <= PFD_MOST_PERIODS);
    CHECK(steps.history.periods[0].batches == 1);
    CHECK(steps.history.periods[steps.history.num_periods - 1].batches == 1);
}

/* Each range stands for itself or for others: whatever is measured, rows and ranges add up. */
static void measured_ranges_stand_for_all(void)
{
    pfd_plan plan = {.num_ops = 2, .num_readers = 1};
    pfd_work work = {0};
    REQUIRE(pfd_work_open(&plan, &work));
    CHECK(atomic_load(&work.now.item) == -1);
    const int64_t ranges = 100000;
    for (int64_t i = 0; i < ranges; i++) {
        pfd_work_begin(&work, 0, 1, i, 0, 10);
        for (int32_t item = 0; item < 2; item++) {
            pfd_work_start(&work, item);
            pfd_work_done(&work, item, 10);
        }
        pfd_work_end(&work);
    }
    for (int32_t item = 0; item < pfd_work_num_items(&plan); item++) {
        pfd_work_stats found = {.struct_size = sizeof found};
        pfd_work_add(&work, item, &found);
        int64_t expected = item < 2 ? ranges : 0;
        CHECK(found.ranges <= expected && found.ranges >= expected - expected / 100);
        CHECK(found.rows == 10 * found.ranges);
        /* to measure such short ones costs too much */
        CHECK(found.measured_ranges < expected / 8 || !expected);
        CHECK(found.wall_ns >= 0 && found.cpu_ns >= 0);
    }
    CHECK(atomic_load(&work.now.count) == ranges && atomic_load(&work.now.item) == -1);
    pfd_work_close(&work);
}

/* Ranges of two stages take turns, short ones and long ones: each long one is measured. */
static void long_ranges_are_measured_among_short_ones(void)
{
    pfd_plan plan = {.num_ops = 2, .num_readers = 1};
    pfd_work work = {0};
    REQUIRE(pfd_work_open(&plan, &work));
    const int64_t ranges = 40, long_ns = 2000000;
    for (int64_t i = 0; i < 2 * ranges; i++) {
        int32_t item = (int32_t)(i % 2);
        pfd_work_begin(&work, item, 1, i, 0, 10);
        pfd_work_start(&work, item);
        for (int64_t until = pfd_clock_ns() + long_ns; item && pfd_clock_ns() < until;) continue;
        pfd_work_done(&work, item, 10);
        pfd_work_end(&work);
    }
    pfd_work_stats found = {.struct_size = sizeof found};
    pfd_work_add(&work, 1, &found);
    CHECK(found.measured_ranges == ranges && found.ranges == ranges);
    CHECK(found.wall_ns >= found.ranges * long_ns);
    CHECK(found.cpu_ns > 0);
    pfd_work_close(&work);
}

/* The last range of each epoch of a stream finds its end, and nothing else. */
static void ranges_without_work_are_not_measured(void)
{
    pfd_plan plan = {.num_ops = 1, .num_readers = 1};
    pfd_work work = {0};
    REQUIRE(pfd_work_open(&plan, &work));
    const int64_t ranges = 40;
    int64_t done = 0;
    for (int64_t i = 0; i < ranges; i++) {
        pfd_work_begin(&work, 0, 1, i, 0, 10);
        pfd_work_start(&work, 0);
        int32_t is_end = i % 4 == 3;
        for (int64_t until = pfd_clock_ns() + 1000000; !is_end && pfd_clock_ns() < until;) continue;
        if (!is_end) pfd_work_done(&work, 0, 10);
        done += !is_end;
        pfd_work_end(&work);
    }
    pfd_work_stats found = {.struct_size = sizeof found};
    pfd_work_add(&work, 0, &found);
    CHECK(found.measured_ranges == done && found.ranges == done && found.rows == 10 * done);
    CHECK(found.wall_ns >= done * 1000000 && found.cpu_ns > 0);
    pfd_work_close(&work);
}

int main(void)
{
    counts_starts_apart();
    counts_a_wait_once();
    a_question_is_forgotten();
    the_parts_are_the_whole();
    counts_in_a_pause_do_not_last();
    periods_are_joined();
    a_long_pause_is_one_period_or_more();
    measured_ranges_stand_for_all();
    long_ranges_are_measured_among_short_ones();
    ranges_without_work_are_not_measured();
    return report();
}
