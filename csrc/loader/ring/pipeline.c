/* Starts, delivers and recycles the batches of the ring. */
#include "loader/ring/pipeline.h"

#include "core/cpu.h"
#include "core/error.h"
#include "dataset/dataset.h"
#include "loader/ring/batch_stages.h"
#include "loader/ring/counters.h"
#include "loader/ring/defaults.h"
#include "loader/ring/ring.h"
#include "loader/ring/slot_pool.h"
#include "loader/ring/stream_producer.h"
#include "loader/ring/tuning.h"
#include "loader/ring/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK_EVERY_NS INT64_C(1000000000) /* how often to check whether files have changed */

/* ---- Starting batches (lock held) ------------------------------------------------------------ */

/* Starts the next batch of readers with random access: the chain says where the batch begins.
 * Returns 0 if no batch can be started. */
static int32_t start_batch(pfd_loader *l)
{
    if (pfd_loader_own_step(l, 0) >= l->plan.num_batches) return 0;
    l->next_step = pfd_loader_own_step(l, l->next_step);
    if (l->next_step >= l->plan.num_batches) {
        l->next_epoch++;
        l->next_step = pfd_loader_own_step(l, 0);
    }
    pfd_slot *slot = pfd_ring_add(l);
    if (!slot) return 0;
    l->next_step++;
    int64_t rows = INT64_MAX, from, to;
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        const pfd_dataset *logical = l->plan.readers[r].logical;
        int64_t end;
        logical->methods->batch(logical, slot->epoch, slot->step, &slot->first_positions[r], &end);
        if (end - slot->first_positions[r] < rows) rows = end - slot->first_positions[r];
    }
    const pfd_reader_attrs *attrs = l->plan.readers[0].attrs; /* ranks are the same in all */
    pfd_rank_rows(rows, attrs->rank, attrs->world_size, &from, &to);
    for (int32_t r = 0; r < l->plan.num_readers; r++) slot->first_positions[r] += from;
    slot->rows = to - from;
    pfd_batch_stages_start(l, slot);
    return 1;
}

/* ---- Delivering (consumer held; lock held only where a comment says so) ---------------------- */

/* With `lock` held. */
static void start_more(pfd_loader *l)
{
    if (l->plan.stream)
        pfd_stream_producer_start(l);
    else
        while (start_batch(l)) continue;
}

/* Waits for a change until the deadline, with `lock` held.  Returns 0 after the deadline. */
static int32_t wait_for_change(pfd_loader *l, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                             .tv_nsec = (long)(deadline_ns % 1000000000)};
    int64_t since = pfd_clock_ns();
    int failure = pthread_cond_timedwait(&l->changed, &l->lock, &until);
    int64_t now = pfd_clock_ns();
    l->stats.wait_ns += now - since;
    if (l->trace) pfd_trace_wait(l, since, now);
    return failure != ETIMEDOUT;
}

/* Works on a piece of the earliest batch that has one left. `lock` is held except during the
 * work. */
static int32_t help(pfd_loader *l)
{
    for (int64_t i = 0; i < pfd_ring_size(l); i++) {
        pfd_slot *slot = pfd_ring_at(l, i);
        if (!slot->started || slot->ready) continue;
        pfd_loop *loop = pfd_batch_stages_loop(slot);
        pthread_mutex_unlock(&l->lock);
        int64_t since = pfd_clock_ns();
        int32_t helped = pfd_thread_pool_help(l->pool, loop);
        int64_t help_ns = pfd_clock_ns() - since;
        pthread_mutex_lock(&l->lock);
        if (helped) {
            l->stats.help_ns += help_ns;
            return 1;
        }
    }
    return 0;
}

/* Checks all files on disk, and sets when to check again, so that it takes at most a hundredth
 * of the time. */
static pfd_status check_disk(pfd_loader *l, pfd_error *err)
{
    int64_t since = pfd_clock_ns();
    for (int32_t r = 0; r < l->plan.num_readers; r++)
        PFD_TRY(pfd_data_reader_check_disk(&l->plan.readers[r], err));
    int64_t now = pfd_clock_ns(), pause = 100 * (now - since);
    l->next_check_ns = now + (pause > CHECK_EVERY_NS ? pause : CHECK_EVERY_NS);
    return PFD_OK;
}

static pfd_status check_guard(const pfd_loader *l, pfd_error *err)
{
    for (int32_t r = 0; r < l->plan.num_readers; r++)
        PFD_TRY(pfd_data_reader_check_guard(&l->plan.readers[r], err));
    return PFD_OK;
}

/* Returns the first record that exceeds max_errors, or NULL. errors_in_epoch is the sum over all
 * readers; it is compared with the max_errors of the reader of the record. */
static const pfd_skipped_row *one_too_many(const pfd_loader *l, const pfd_slot *slot)
{
    int64_t errors = l->errors_in_epoch;
    for (int64_t i = 0; i < slot->num_skipped_rows; i++) {
        const pfd_skipped_row *skipped = &slot->skipped_rows[i];
        int64_t most = l->plan.readers[skipped->reader].attrs->max_errors;
        if (skipped->filler) continue;
        if (most >= 0 && errors >= most) return skipped;
        errors++;
    }
    return NULL;
}

/* Returns how many records were skipped. */
static int64_t note_skipped_rows(pfd_loader *l, const pfd_slot *slot)
{
    int64_t errors = 0;
    pthread_mutex_lock(&l->lock);
    for (int64_t i = 0; i < slot->num_skipped_rows; i++) {
        if (slot->skipped_rows[i].filler) continue;
        errors++;
        l->stats.skipped++;
        const pfd_error *error = slot->skipped_rows[i].error;
        if (error) l->skipped[l->num_skipped++ % PFD_KEPT_SKIPPED] = *error;
    }
    pthread_mutex_unlock(&l->lock);
    return errors;
}

/* Counts the skipped records.  PFD_CORRUPT_DATA: they are too many. */
static pfd_status report_skipped_rows(pfd_loader *l, const pfd_slot *slot, pfd_error *err)
{
    const pfd_skipped_row *skipped = one_too_many(l, slot);
    if (skipped) {
        if (skipped->error)
            pfd_error_copy(err, skipped->error);
        else
            (void)pfd_fail(err, PFD_CORRUPT_DATA, "a record is damaged");
        size_t used = strlen(err->message);
        (void)snprintf(err->message + used, sizeof err->message - used,
                       " (more bad records in this epoch than max_errors = %" PRId64 ")",
                       l->plan.readers[skipped->reader].attrs->max_errors);
        return err->status;
    }
    l->errors_in_epoch += note_skipped_rows(l, slot);
    return PFD_OK;
}

/* Data may look corrupt because another process has changed the file; then that is the better
 * message. */
static pfd_status check_files(pfd_loader *l, const pfd_slot *slot, pfd_status status,
                              pfd_error *err)
{
    if (status == PFD_CORRUPT_DATA || slot->num_skipped_rows || slot->step == 0 ||
        pfd_clock_ns() >= l->next_check_ns)
        PFD_TRY(check_disk(l, err));
    return check_guard(l, err);
}

/* Finds what is wrong with a finished batch. */
static pfd_status inspect(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    pfd_status status = slot->loop.status;
    PFD_TRY(check_files(l, slot, status, err));
    if (status != PFD_OK) {
        if (!slot->loop.error) return pfd_fail_memory(err, sizeof *err, "an error's text");
        pfd_error_copy(err, slot->loop.error);
        return status;
    }
    return report_skipped_rows(l, slot, err);
}

/* Once, if several loaders share the steps.  Readers are zipped: the first one tells for all. */
static void note_left_out(pfd_loader *l)
{
    int64_t records = atomic_load(&l->plan.readers[0].left_out);
    if (l->share > 0 || records <= 0) return;
    pthread_mutex_lock(&l->lock);
    l->stats.left_out += records;
    pthread_mutex_unlock(&l->lock);
}

static pfd_status end_epoch(pfd_loader *l, pfd_error *err)
{
    PFD_TRY(check_disk(l, err));
    note_left_out(l);
    l->epoch++;
    l->step = 0;
    l->errors_in_epoch = 0;
    return PFD_END;
}

/* With `lock` held. */
static pfd_status no_slot(const pfd_loader *l, pfd_error *err)
{
    if (pfd_slot_pool_has_budget(l))
        return pfd_fail_memory(err, l->plan.slot_bytes, "another batch");
    return pfd_fail(err, PFD_OUT_OF_MEMORY,
                    "all %d batches of %" PRId64 " bytes that memory_budget = %" PRId64
                    " allows are held by arrays; release some, copy the arrays to keep, or raise "
                    "memory_budget",
                    l->num_held,
                    pfd_slot_cost(&l->plan) + (l->most_values > 0 ? l->most_values : 0),
                    l->memory_budget);
}

/* Waits until the next batch is ready, and takes it out of the ring; with `lock` held. The ring is
 * filled when it is half empty: then there is enough work to wake a thread for it. */
static pfd_status take_ready(pfd_loader *l, int64_t deadline_ns, pfd_slot **out, pfd_error *err)
{
    if (pfd_ring_size(l) == 0) start_more(l);
    if (pfd_ring_size(l) == 0) return no_slot(l, err);
    pfd_slot *slot = pfd_ring_at(l, 0);
    pfd_steps_ask(&l->steps, l->called_ns, slot->ready);
    while (!slot->ready) {
        if (help(l) && (slot->ready || pfd_clock_ns() < deadline_ns)) continue;
        if (!slot->ready && !wait_for_change(l, deadline_ns)) return PFD_PENDING;
    }
    pfd_ring_remove_first(l);
    if (pfd_ring_size(l) <= l->prefetch / 2) start_more(l);
    *out = slot;
    return PFD_OK;
}

/* Decides about a batch that was taken out of the ring. PFD_OK: it is delivered to the caller. */
static pfd_status judge(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    pfd_status status = slot->end ? end_epoch(l, err) : inspect(l, slot, err);
    int32_t passed = status == PFD_CORRUPT_DATA &&
                     (slot->loop.status == PFD_OK || pfd_slot_loop_can_pass(&slot->loop));
    if (status == PFD_OK || passed)
        l->step = slot->step + 1;
    else if (status != PFD_END)
        l->restart = 1; /* the next call tries this batch again */
    return status;
}

/* With `lock` held. */
static void deliver(pfd_loader *l, pfd_slot *slot, pfd_batch *out)
{
    l->num_held++;
    l->stats.batches++;
    l->stats.records += slot->rows;
    if (l->trace) {
        pfd_trace_delivery(l, slot);
        pfd_trace_slot(l, slot, PFD_TRACE_SLOT_HELD);
    }
    if (slot->step >= 0)
        pfd_steps_deliver(&l->steps, slot->step, slot->rows, l->num_ready);
    *out = (pfd_batch){
        .memory = slot->memory, .epoch = slot->epoch, .step = slot->step, .rows = slot->rows};
}

pfd_status pfd_pipeline_next(pfd_loader *l, int64_t deadline_ns, pfd_batch *out, pfd_error *err)
{
    for (;;) {
        if (l->restart) PFD_TRY(pfd_pipeline_restart(l, deadline_ns, err));
        if (!l->plan.stream && pfd_loader_own_step(l, l->step) >= l->plan.num_batches)
            return end_epoch(l, err);
        pfd_slot *slot = NULL;
        pthread_mutex_lock(&l->lock);
        pfd_status status = take_ready(l, deadline_ns, &slot, err);
        pthread_mutex_unlock(&l->lock);
        if (status != PFD_OK) return status;
        status = judge(l, slot, err);
        /* A batch of a stream that failed and is skipped has only its report. */
        int32_t given =
            status == PFD_OK && (slot->rows > 0 || !slot->num_skipped_rows || slot->started);
        pthread_mutex_lock(&l->lock);
        int32_t is_due = 0;
        if (given) {
            deliver(l, slot, out);
            is_due = pfd_tuning_is_due(l);
        } else {
            if (status != PFD_OK) pfd_steps_forget(&l->steps);
            pfd_slot_pool_put(l, slot);
        }
        pthread_mutex_unlock(&l->lock);
        if (is_due) pfd_tuning_run(l);
        if (given || status != PFD_OK) return status;
    }
}

/* With `lock` held. */
static pfd_status drain(pfd_loader *l, int64_t deadline_ns)
{
    while (pfd_ring_size(l) > 0) {
        pfd_slot *slot = pfd_ring_at(l, 0);
        while (!slot->ready)
            if (!wait_for_change(l, deadline_ns)) return PFD_PENDING;
        pfd_ring_remove_first(l);
        pfd_slot_pool_put(l, slot);
    }
    return PFD_OK;
}

pfd_status pfd_pipeline_restart(pfd_loader *l, int64_t deadline_ns, pfd_error *err)
{
    l->restart = 1;
    atomic_store(&l->bounds.cancelled, 1);
    pthread_mutex_lock(&l->lock);
    pfd_status status = drain(l, deadline_ns);
    if (status == PFD_OK) {
        atomic_store(&l->bounds.cancelled, 0);
        for (int32_t r = 0; status == PFD_OK && r < l->plan.num_readers; r++)
            status = pfd_data_reader_apply_seed(&l->plan.readers[r], err);
        l->next_epoch = l->epoch;
        l->next_step = l->step;
        l->seek_streams = 1;
        l->restart = status != PFD_OK;
        pfd_steps_restart(&l->steps);
        pfd_tuning_restart(l);
    }
    pthread_mutex_unlock(&l->lock);
    return status;
}

/* ---- Reading at positions (consumer held) ---------------------------------------------------- */

static pfd_status check_read(const pfd_loader *l, const int64_t *positions, int64_t n,
                             pfd_error *err)
{
    if (l->plan.stream)
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "rows at positions were asked for, and a reader is read in sequence");
    if (n < 0 || n > l->plan.local_batch_size)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "%" PRId64 " rows were asked for at once; it must be in [0, %" PRId64 "]",
                        n, l->plan.local_batch_size);
    int64_t size = INT64_MAX;
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        const pfd_dataset *logical = l->plan.readers[r].logical;
        int64_t own = logical->methods->size(logical);
        if (own < size) size = own;
    }
    for (int64_t i = 0; i < n; i++)
        if (positions[i] < 0 || positions[i] >= size)
            return pfd_fail(err, PFD_INVALID_ARGUMENT,
                            "there is no row %" PRId64 " in an epoch of %" PRId64, positions[i],
                            size);
    return PFD_OK;
}

/* Makes the rows of a slot at positions, and finds what is wrong with them. */
static pfd_status read_slot(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    pfd_error own;
    pfd_error_init(&own);
    pfd_status status = pfd_batch_stages_run(l, slot, &own);
    slot->positions = NULL;
    PFD_TRY(check_files(l, slot, status, err));
    if (status != PFD_OK) {
        pfd_error_copy(err, &own);
        return status;
    }
    (void)note_skipped_rows(l, slot);
    return PFD_OK;
}

pfd_status pfd_pipeline_read(pfd_loader *l, int64_t epoch, const int64_t *positions, int64_t n,
                             pfd_batch *out, pfd_error *err)
{
    PFD_TRY(check_read(l, positions, n, err));
    pthread_mutex_lock(&l->lock);
    pfd_slot *slot = pfd_slot_pool_take_at_once(l);
    pfd_status status = slot ? PFD_OK : no_slot(l, err);
    if (slot) {
        slot->epoch = epoch;
        slot->step = -1;
        slot->rows = n;
        slot->positions = positions;
        if (l->trace) pfd_trace_slot(l, slot, PFD_TRACE_SLOT_FILLS);
    }
    pthread_mutex_unlock(&l->lock);
    if (!slot) return status;
    status = read_slot(l, slot, err);
    pthread_mutex_lock(&l->lock);
    if (status == PFD_OK)
        deliver(l, slot, out);
    else
        pfd_slot_pool_put(l, slot);
    pthread_mutex_unlock(&l->lock);
    return status;
}

/* ---- Opening and closing --------------------------------------------------------------------- */

static pfd_status fit_into_budget(pfd_loader *l, pfd_error *err)
{
    int64_t most = l->memory_budget / pfd_slot_cost(&l->plan);
    if (most < 2) {
        (void)pfd_fail(err, PFD_INVALID_ARGUMENT,
                       "one batch of %" PRId64 " rows takes %" PRId64
                       " bytes, and there must be room for two, but memory_budget is %" PRId64
                       "; lower batch_size or raise memory_budget",
                       l->plan.local_batch_size, pfd_slot_cost(&l->plan), l->memory_budget);
        return pfd_error_set_attr(err, "memory_budget");
    }
    most = most > 3 ? most - 2 : 1;
    if (l->prefetch > most) l->prefetch = (int32_t)most;
    l->most_threads = pfd_most_threads(l);
    l->most_prefetch = (int32_t)(pfd_most_prefetch(l) < most ? pfd_most_prefetch(l) : most);
    return PFD_OK;
}

static pfd_status allocate(pfd_loader *l, pfd_error *err)
{
    while (l->ring_mask + 1 < l->most_prefetch) l->ring_mask = 2 * l->ring_mask + 1;
    l->ring = calloc((size_t)l->ring_mask + 1, sizeof *l->ring);
    l->skipped = calloc(PFD_KEPT_SKIPPED, sizeof *l->skipped);
    l->workers = calloc((size_t)l->most_threads + 1, sizeof *l->workers);
    int32_t whole = l->ring && l->skipped && l->workers;
    l->num_workers = l->num_threads;
    for (int32_t i = 0; whole && i <= l->num_workers; i++)
        whole = pfd_worker_open(&l->plan, pfd_loader_worker(l, i));
    for (int32_t i = 0; whole && i < l->prefetch + 2 && (i == 0 || pfd_slot_pool_has_budget(l));
         i++)
        whole = pfd_slot_pool_grow(l);
    if (whole) return PFD_OK;
    return pfd_fail(err, PFD_OUT_OF_MEMORY,
                    "no memory for %d batches of %" PRId64 " bytes; lower batch_size or prefetch",
                    l->prefetch + 2, l->plan.slot_bytes);
}

pfd_status pfd_pipeline_open(pfd_loader *l, pfd_error *err)
{
    l->most_values = -1;
    PFD_TRY(fit_into_budget(l, err));
    PFD_TRY(allocate(l, err));
    PFD_TRY(pfd_tuning_open(l, err));
    l->seek_streams = 1;
    return pfd_thread_pool_create(l->num_threads, l->most_threads, &l->pool, err);
}

void pfd_pipeline_close(pfd_loader *l)
{
    if (l->closed) return;
    atomic_store(&l->bounds.cancelled, 1);
    pthread_mutex_lock(&l->asking);
    pfd_counters_ask(l);
    pthread_mutex_lock(&l->lock);
    (void)pfd_counters_keep(l);
    pfd_trace_stop(l);
    l->closed = 1; /* after this no other thread uses the pool and the workers */
    pthread_mutex_unlock(&l->lock);
    pthread_mutex_unlock(&l->asking);
    pfd_thread_pool_free(l->pool);
    l->pool = NULL;
    pthread_mutex_lock(&l->lock);
    while (pfd_ring_size(l) > 0) {
        pfd_slot *slot = pfd_ring_at(l, 0);
        pfd_ring_remove_first(l);
        pfd_slot_pool_put(l, slot);
    }
    while (l->free_slots) {
        pfd_slot *slot = l->free_slots;
        l->free_slots = slot->next_free;
        pfd_slot_pool_put(l, slot);
    }
    pfd_slot_pool_free_arenas(l);
    pthread_mutex_unlock(&l->lock);
    for (int32_t i = 0; l->workers && i <= l->num_workers; i++)
        pfd_worker_close(&l->plan, pfd_loader_worker(l, i));
    for (int32_t r = 0; l->plan.readers && r < l->plan.num_readers; r++)
        pfd_data_reader_close_files(&l->plan.readers[r]);
    free(l->workers);
    free(l->ring);
    l->workers = NULL;
    l->ring = NULL;
}
