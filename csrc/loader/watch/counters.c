/* Counts steps and their course, and collects what threads, the pool and the kernel count. */
#include "loader/watch/counters.h"

#include "core/cpu.h"

#include <stdlib.h>
#include <string.h>

/* ---- Steps: time in next(), time between two calls, and their course ------------------------- */

static const int64_t first_period_ns = 50 * 1000 * 1000;

/* Counts the time up to a moment for one kind, and returns it; a moment that is not after the last
 * one counts nothing. */
static int64_t count_until(pfd_steps *steps, int32_t kind, int64_t moment_ns)
{
    int64_t ns = moment_ns - steps->counted_ns;
    if (ns <= 0) return 0;
    steps->times[kind] += ns;
    steps->counted_ns = moment_ns;
    return ns;
}

/* Counts what the caller did after the library had returned, until the program had its batch. */
static void count_caller(pfd_steps *steps, const pfd_caller *caller, int64_t now_ns)
{
    int32_t making = steps->gave == PFD_GAVE_END ? PFD_TIME_TURN : PFD_TIME_HAND_OUT;
    int64_t moments[] = {caller->took_ns, caller->made_ns, caller->converted_ns};
    int32_t kinds[] = {PFD_TIME_LOCK, making, PFD_TIME_CONVERT};
    int64_t ns = 0;
    for (int32_t i = 0; i < 3; i++)
        ns += count_until(steps, kinds[i], moments[i] < now_ns ? moments[i] : now_ns);
    if (steps->gave == PFD_GAVE_NOTHING || !ns) return;
    *(steps->gave == PFD_GAVE_STEP ? &steps->next_ns : &steps->start_ns) += ns;
    if (steps->gave == PFD_GAVE_END) return;
    steps->history.periods[steps->history.num_periods - 1].wait_ns += ns;
    steps->delivered_ns = steps->counted_ns;
}

/* Counts the time of the library since it was called; time without a kind of its own counts as one
 * kind. */
static void count_library(pfd_steps *steps, int32_t kind, int64_t now_ns)
{
    int64_t ns = now_ns - steps->counted_ns - steps->named_ns;
    if (ns > 0) steps->times[kind] += ns;
    steps->counted_ns = now_ns;
    steps->named_ns = 0;
}

/* Counts the time until the caller, or its program, does something else. */
static void count_program(pfd_steps *steps, const pfd_caller *caller, int64_t now_ns)
{
    int32_t kind = steps->gave == PFD_GAVE_END ? PFD_TIME_BETWEEN : PFD_TIME_OUTSIDE;
    if (!steps->counted_ns) return;
    if (caller->took_ns) count_caller(steps, caller, now_ns);
    count_until(steps, steps->asks ? PFD_TIME_HAND_OUT : kind, now_ns);
}

void pfd_steps_ask(pfd_steps *steps, const pfd_caller *caller, int64_t now_ns, int32_t is_ready)
{
    count_program(steps, caller, now_ns);
    if (now_ns > steps->counted_ns) steps->counted_ns = now_ns;
    if (steps->asks) return;
    steps->asks = 1;
    steps->gave = PFD_GAVE_NOTHING;
    steps->asked_ns = steps->counted_ns;
    steps->was_ready = is_ready;
}

void pfd_steps_return(pfd_steps *steps, int64_t now_ns)
{
    count_library(steps, PFD_TIME_HAND_OUT, now_ns);
}

void pfd_steps_forget(pfd_steps *steps, int64_t now_ns, int32_t is_end)
{
    count_library(steps, is_end ? PFD_TIME_TURN : PFD_TIME_HAND_OUT, now_ns);
    if (is_end) steps->start_ns += now_ns - steps->asked_ns;
    steps->gave = is_end ? PFD_GAVE_END : PFD_GAVE_NOTHING;
    steps->asks = 0;
}

void pfd_steps_restart(pfd_steps *steps)
{
    steps->asks = 0;
    steps->is_restart = 1;
}

int32_t pfd_steps_pause(pfd_steps *steps, const pfd_caller *caller, int64_t now_ns)
{
    if (!steps->kept) {
        count_program(steps, caller, now_ns);
        pfd_steps *kept = malloc(sizeof *kept);
        if (!kept) return 0;
        *kept = *steps;
        steps->kept = kept;
    }
    steps->pauses++;
    return 1;
}

void pfd_steps_resume(pfd_steps *steps, int64_t now_ns)
{
    if (--steps->pauses > 0) return;
    pfd_steps *kept = steps->kept;
    *steps = *kept;
    free(kept);
    if (steps->counted_ns) steps->counted_ns = now_ns; /* the caller's moments are old */
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

/* Goes to the period of a moment after the last one.  Not a part of pfd_steps_deliver(), whose
 * registers it would take: few steps begin a period. */
__attribute__((noinline)) static void go_on(pfd_steps *steps, int64_t now_ns)
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

/* Counts the call that gives a batch, up to this moment. */
static void note_call(pfd_steps *steps, int64_t now_ns)
{
    int64_t ns = now_ns - steps->asked_ns;
    if (steps->gave == PFD_GAVE_START) {
        steps->start_ns += ns;
        return;
    }
    steps->next_ns += ns;
    if (steps->was_ready) return;
    steps->waited_steps++;
    steps->wait_ns += ns;
    note_duration(steps->history.waits, ns);
}

void pfd_steps_deliver(pfd_steps *steps, int64_t now_ns, int64_t step, int64_t rows,
                       int64_t num_ready)
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
    steps->moments.batches[steps->moments.count++ % PFD_MOST_MOMENTS] = (pfd_moment){
        .asked_ns = steps->asked_ns, .delivered_ns = now_ns, .is_start = is_start};
    steps->gave = is_start ? PFD_GAVE_START : PFD_GAVE_STEP;
    count_library(steps, PFD_TIME_HAND_OUT, now_ns);
    note_call(steps, now_ns);
    steps->delivered_ns = now_ns;
    if (now_ns >= steps->period_end_ns) go_on(steps, now_ns);
    pfd_period *period = &history->periods[history->num_periods - 1];
    period->wait_ns += now_ns - steps->asked_ns;
    period->batches++;
    period->rows += rows;
    period->ready += num_ready;
    steps->asks = steps->is_restart = 0;
}

/* ---- The kernel and the threads -------------------------------------------------------------- */

void pfd_counters_open(pfd_counters *counters)
{
    counters->stats.opened_ns = pfd_clock_ns();
    counters->opened_cpu_ns = pfd_process_cpu_ns();
    counters->opened_throttled_ns = pfd_throttled_ns();
    counters->opened_machine_ns = pfd_machine_cpu_ns();
    counters->opened_pressure_ns = pfd_cpu_pressure_ns();
}

void pfd_counters_close(pfd_counters *counters)
{
    free(counters->steps.kept);
    free(counters->work);
}

void pfd_counters_note_memory(pfd_counters *counters, int32_t has_memory)
{
    if (has_memory == !counters->no_memory_since_ns) return;
    int64_t now_ns = pfd_clock_ns();
    if (has_memory) counters->stats.no_memory_ns += now_ns - counters->no_memory_since_ns;
    counters->no_memory_since_ns = has_memory ? 0 : now_ns;
}

void pfd_counters_ask(pfd_counters *counters, const pfd_thread_pool *pool, int32_t num_workers)
{
    pfd_system_counts system = {
        .processors = pfd_cpu_count(),
        .process_cpu_ns = pfd_process_cpu_ns() - counters->opened_cpu_ns,
        .throttled_ns = pfd_throttled_ns() - counters->opened_throttled_ns,
        .machine_cpu_ns = pfd_machine_cpu_ns() - counters->opened_machine_ns,
        .pressure_ns = pfd_cpu_pressure_ns() - counters->opened_pressure_ns};
    for (int32_t i = 0; i < num_workers; i++)
        pfd_thread_usage_add(pfd_thread_pool_system_id(pool, i), &system.threads);
    counters->system = system;
}

static void copy_system(const pfd_system_counts *system, pfd_stats *stats)
{
    stats->cpu_ns = system->threads.cpu_ns;
    stats->runnable_ns = system->threads.runnable_ns;
    stats->major_faults = system->threads.major_faults;
    stats->processors = system->processors;
    stats->process_cpu_ns = system->process_cpu_ns;
    stats->throttled_ns = system->throttled_ns;
    stats->machine_cpu_ns = system->machine_cpu_ns;
    stats->pressure_ns = system->pressure_ns;
}

static void update_threads(pfd_stats *stats, const pfd_threads *threads)
{
    pfd_pool_counts counts = pfd_thread_pool_counts(threads->pool);
    stats->now_ns = pfd_clock_ns();
    stats->thread_ns = counts.thread_ns;
    stats->idle_ns = counts.idle_ns;
    stats->bytes = 0;
    for (int32_t i = 0; i <= threads->num_workers; i++)
        stats->bytes += pfd_work_get(&pfd_threads_work(threads, i)->bytes);
}

static void copy_times(const int64_t *times, pfd_stats *stats)
{
    stats->wait_ns = times[PFD_TIME_WAIT];
    stats->help_ns = times[PFD_TIME_HELP];
    stats->lock_ns = times[PFD_TIME_LOCK];
    stats->check_ns = times[PFD_TIME_CHECK];
    stats->turn_ns = times[PFD_TIME_TURN];
    stats->hand_out_ns = times[PFD_TIME_HAND_OUT];
    stats->convert_ns = times[PFD_TIME_CONVERT];
    stats->outside_ns = times[PFD_TIME_OUTSIDE];
    stats->between_ns = times[PFD_TIME_BETWEEN];
}

static void copy_steps(const pfd_steps *steps, pfd_stats *stats)
{
    copy_times(steps->times, stats);
    stats->asked_ns = steps->asked_ns;
    stats->delivered_ns = steps->delivered_ns;
    stats->starts = steps->starts;
    stats->start_ns = steps->start_ns;
    stats->steps = steps->steps;
    stats->waited_steps = steps->waited_steps;
    stats->step_wait_ns = steps->wait_ns;
    stats->step_train_ns = steps->train_ns;
    stats->step_next_ns = steps->next_ns;
}

void pfd_counters_update(pfd_counters *counters, const pfd_caller *caller,
                         const pfd_threads *threads)
{
    pfd_steps *steps = &counters->steps;
    if (!steps->asks && steps->counted_ns) count_caller(steps, caller, INT64_MAX);
    if (threads) update_threads(&counters->stats, threads);
    copy_system(&counters->system, &counters->stats);
    copy_steps(&counters->steps, &counters->stats);
}

/* ---- Work ------------------------------------------------------------------------------------ */

/* Kind, reader and op of an item of work. */
static pfd_work_stats describe(const pfd_plan *plan, int32_t item)
{
    pfd_work_stats of = {.struct_size = sizeof of, .op = "", .name = "", .fused_op = ""};
    if (item == pfd_work_joining(plan)) {
        of.kind = PFD_WORK_JOIN;
        of.reader = -1;
    } else if (item >= plan->num_ops) {
        of.kind = item < pfd_work_reading(plan, 0) ? PFD_WORK_RECORDS : PFD_WORK_READ;
        of.reader = (item - plan->num_ops) % plan->num_readers;
        of.op = plan->readers[of.reader].node->op->op->name;
        of.name = plan->readers[of.reader].name;
    } else {
        const pfd_plan_op *op = &plan->ops[item];
        of.reader = op->reader;
        of.is_whole = op->stage % 2;
        of.op = op->node->op->op->name;
        of.name = op->node->name;
        if (op->producer) of.fused_op = op->producer->op->op->name;
    }
    return of;
}

pfd_work_stats pfd_counters_work(const pfd_plan *plan, const pfd_threads *threads, int32_t item)
{
    pfd_work_stats all = describe(plan, item);
    for (int32_t i = 0; i <= threads->num_workers; i++)
        pfd_work_add(pfd_threads_work(threads, i), item, &all);
    for (int32_t i = 0; i <= threads->num_workers; i++)
        pfd_work_add_slow(pfd_threads_work(threads, i), plan->num_stages, item, &all);
    if (item >= plan->num_ops && item < pfd_work_joining(plan) &&
        plan->readers[all.reader].node->op->op->flags & PFD_READS_FOLDERS)
        all.largest = (pfd_slow_range){0}; /* its records are names */
    const pfd_work *callers = pfd_threads_work(threads, threads->num_workers);
    all.help_ns = pfd_work_get(&callers->counts[item].wall_ns);
    return all;
}

void pfd_counters_keep(pfd_counters *counters, const pfd_plan *plan, const pfd_threads *threads)
{
    pfd_stats *stats = &counters->stats;
    if (counters->no_memory_since_ns)
        stats->no_memory_ns += stats->now_ns - counters->no_memory_since_ns;
    if (!threads) return;
    int32_t items = pfd_work_num_items(plan);
    counters->work = calloc((size_t)items, sizeof *counters->work);
    for (int32_t i = 0; counters->work && i < items; i++)
        counters->work[i] = pfd_counters_work(plan, threads, i);
}

pfd_thread_now pfd_counters_thread(const pfd_threads *threads, int32_t i)
{
    const pfd_work_now *now = &pfd_threads_work(threads, i)->now;
    int32_t is_of_pool = i < threads->num_workers;
    return (pfd_thread_now){
        .struct_size = sizeof(pfd_thread_now),
        .system_id = is_of_pool ? pfd_thread_pool_system_id(threads->pool, i) : 0,
        .work = atomic_load_explicit(&now->item, memory_order_relaxed),
        .reader = (int32_t)pfd_work_get(&now->reader),
        .count = pfd_work_get(&now->count),
        .epoch = pfd_work_get(&now->epoch),
        .step = pfd_work_get(&now->step),
        .num_rows = pfd_work_get(&now->num_rows),
        .file = pfd_work_get(&now->file),
        .first_ordinal = pfd_work_get(&now->first_ordinal),
        .last_ordinal = pfd_work_get(&now->last_ordinal),
    };
}
