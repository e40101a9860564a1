/* Collects the counters of a loader from where they are counted. */
#include "loader/ring/counters.h"

#include "core/cpu.h"
#include "core/error.h"

#include <stdlib.h>

/* ---- In the loader --------------------------------------------------------------------------- */

void pfd_counters_ask(pfd_loader *l)
{
    if (l->closed || !l->pool) return;
    pthread_mutex_lock(&l->lock);
    int32_t num_workers = l->num_workers;
    pthread_mutex_unlock(&l->lock);
    pfd_system_counts system = {.processors = pfd_cpu_count(),
                                .process_cpu_ns = pfd_process_cpu_ns() - l->opened_cpu_ns,
                                .throttled_ns = pfd_throttled_ns() - l->opened_throttled_ns};
    for (int32_t i = 0; i < num_workers; i++)
        pfd_thread_usage_add(pfd_thread_pool_system_id(l->pool, i), &system.threads);
    l->system = system;
}

static void copy_system(const pfd_system_counts *system, pfd_stats *stats)
{
    stats->cpu_ns = system->threads.cpu_ns;
    stats->runnable_ns = system->threads.runnable_ns;
    stats->major_faults = system->threads.major_faults;
    stats->processors = system->processors;
    stats->process_cpu_ns = system->process_cpu_ns;
    stats->throttled_ns = system->throttled_ns;
}

static void update_threads(pfd_loader *l)
{
    pfd_stats *stats = &l->stats;
    pfd_pool_counts counts = pfd_thread_pool_counts(l->pool);
    stats->now_ns = pfd_clock_ns();
    stats->thread_ns = counts.thread_ns;
    stats->idle_ns = counts.idle_ns;
    stats->slots_ready = (int32_t)l->num_ready;
    stats->bytes = 0;
    for (int32_t i = 0; i <= l->num_workers; i++)
        stats->bytes += atomic_load_explicit(&pfd_loader_worker(l, i)->bytes, memory_order_relaxed);
    stats->read_bytes = 0;
    for (int32_t r = 0; r < l->plan.num_readers; r++)
        stats->read_bytes += pfd_data_reader_bytes_read(&l->plan.readers[r]);
}

static void copy_steps(const pfd_steps *steps, pfd_stats *stats)
{
    stats->asked_ns = steps->asked_ns;
    stats->delivered_ns = steps->delivered_ns;
    stats->starts = steps->starts;
    stats->start_ns = steps->start_ns;
    stats->steps = steps->steps;
    stats->waited_steps = steps->waited_steps;
    stats->step_wait_ns = steps->wait_ns;
    stats->step_train_ns = steps->train_ns;
}

/* Brings loader->stats up to date. */
static void update(pfd_loader *l)
{
    if (!l->closed && l->pool) update_threads(l);
    copy_system(&l->system, &l->stats);
    copy_steps(&l->steps, &l->stats);
    l->stats.slots = l->num_slots;
    l->stats.slots_held = l->num_held;
    l->stats.slot_bytes = l->num_slots * l->plan.slot_bytes + l->ragged_bytes;
}

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

static pfd_work_stats work_of(const pfd_loader *l, int32_t item)
{
    pfd_work_stats all = describe(&l->plan, item);
    for (int32_t i = 0; i <= l->num_workers; i++)
        pfd_work_add(&pfd_loader_worker(l, i)->work, item, &all);
    return all;
}

int32_t pfd_counters_keep(pfd_loader *l)
{
    update(l);
    if (l->no_memory_since_ns) l->stats.no_memory_ns += l->stats.now_ns - l->no_memory_since_ns;
    if (!l->pool || l->work) return 1;
    int32_t items = pfd_work_num_items(&l->plan);
    l->work = calloc((size_t)items, sizeof *l->work);
    for (int32_t i = 0; l->work && i < items; i++) l->work[i] = work_of(l, i);
    return l->work != NULL;
}

/* ---- For whoever asks ------------------------------------------------------------------------ */

pfd_status pfd_loader_get_stats(const pfd_loader *loader, pfd_stats *out)
{
    pfd_loader *l = pfd_loader_writable(loader);
    if (pfd_loader_is_foreign(l)) return PFD_UNSUPPORTED;
    pthread_mutex_lock(&l->asking);
    pfd_counters_ask(l);
    pthread_mutex_lock(&l->lock);
    update(l);
    *out = l->stats;
    out->struct_size = sizeof *out;
    int64_t since_ns = l->closed ? 0 : l->no_memory_since_ns;
    if (since_ns) out->no_memory_ns += out->now_ns - since_ns;
    pthread_mutex_unlock(&l->lock);
    pthread_mutex_unlock(&l->asking);
    return PFD_OK;
}

pfd_status pfd_loader_get_work(const pfd_loader *loader, int32_t i, pfd_work_stats *out)
{
    pfd_loader *l = pfd_loader_writable(loader);
    if (pfd_loader_is_foreign(l)) return PFD_UNSUPPORTED;
    if (i < 0 || i >= pfd_work_num_items(&l->plan)) return PFD_END;
    pthread_mutex_lock(&l->lock);
    pfd_status status = l->closed && !l->work ? PFD_END : PFD_OK;
    if (status == PFD_OK) *out = l->closed ? l->work[i] : work_of(l, i);
    pthread_mutex_unlock(&l->lock);
    return status;
}

static void read_now(const pfd_work_now *now, pfd_thread_now *out)
{
    out->work = atomic_load_explicit(&now->item, memory_order_relaxed);
    out->reader = (int32_t)pfd_work_get(&now->reader);
    out->count = pfd_work_get(&now->count);
    out->epoch = pfd_work_get(&now->epoch);
    out->step = pfd_work_get(&now->step);
    out->num_rows = pfd_work_get(&now->num_rows);
    out->file = pfd_work_get(&now->file);
    out->first_ordinal = pfd_work_get(&now->first_ordinal);
    out->last_ordinal = pfd_work_get(&now->last_ordinal);
}

pfd_status pfd_loader_get_thread(const pfd_loader *loader, int32_t i, pfd_thread_now *out)
{
    pfd_loader *l = pfd_loader_writable(loader);
    if (pfd_loader_is_foreign(l)) return PFD_UNSUPPORTED;
    pthread_mutex_lock(&l->lock);
    pfd_status status = l->closed || i < 0 || i > l->num_workers ? PFD_END : PFD_OK;
    if (status == PFD_OK) {
        *out = (pfd_thread_now){.struct_size = sizeof *out};
        if (i < l->num_workers) out->system_id = pfd_thread_pool_system_id(l->pool, i);
        read_now(&pfd_loader_worker(l, i)->work.now, out);
    }
    pthread_mutex_unlock(&l->lock);
    return status;
}

pfd_status pfd_loader_pause_counts(pfd_loader *l, int32_t is_paused, pfd_error *err)
{
    if (pfd_loader_is_foreign(l))
        return pfd_fail(err, PFD_UNSUPPORTED, "this loader was opened before a fork");
    int32_t has_memory = 1;
    pthread_mutex_lock(&l->lock);
    if (is_paused)
        has_memory = pfd_steps_pause(&l->steps);
    else
        pfd_steps_resume(&l->steps);
    pthread_mutex_unlock(&l->lock);
    return has_memory ? PFD_OK : pfd_fail_memory(err, sizeof l->steps, "counters of steps");
}

pfd_status pfd_loader_get_history(const pfd_loader *loader, pfd_history *out)
{
    pfd_loader *l = pfd_loader_writable(loader);
    if (pfd_loader_is_foreign(l)) return PFD_UNSUPPORTED;
    pthread_mutex_lock(&l->lock);
    *out = l->steps.history;
    out->struct_size = sizeof *out;
    pthread_mutex_unlock(&l->lock);
    return PFD_OK;
}
