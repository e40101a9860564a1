/* Beginning, filling, delivering and recycling the batches of the ring. */
#include "loader/pipeline.h"
#include "core/cpu.h"
#include "core/error.h"
#include "dataset/dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Making batches
 * ------------------------------------------------------------------------------- */

static void mark_ready(pfd_loader *l, pfd_slot *slot)
{
    slot->ready = 1;
    pthread_cond_broadcast(&l->changed);
}

static int32_t note_bad_row(pfd_slot *slot, const pfd_bad_row *bad)
{
    pthread_mutex_lock(&slot->loader->lock);
    int32_t noted = pfd_slot_add_bad_row(slot, bad);
    pthread_mutex_unlock(&slot->loader->lock);
    return noted;
}

static pfd_status make_rows(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    pfd_slot *slot = ctx;
    pfd_loader *l = slot->loader;
    if (atomic_load_explicit(&l->cancel, memory_order_relaxed))
        return pfd_fail(err, PFD_CANCELLED, "the batch was given up");
    return pfd_kernel_chain_run(&l->plan, &l->workers[worker], slot, begin, end, note_bad_row, err);
}

static void rows_made(void *ctx)
{
    pfd_slot *slot = ctx;
    pfd_loader *l = slot->loader;
    if (slot->loop.status == PFD_OK) pfd_slot_remove_bad_rows(&l->plan, slot);
    pthread_mutex_lock(&l->lock);
    mark_ready(l, slot);
    pthread_mutex_unlock(&l->lock);
}

static void begin_rows(pfd_loader *l, pfd_slot *slot)
{
    slot->begun = 1;
    if (slot->rows == 0) {
        mark_ready(l, slot);
        return;
    }
    slot->loop.n = slot->rows;
    slot->loop.chunk = l->plan.chunk_rows;
    slot->loop.fn = make_rows;
    slot->loop.done = rows_made;
    slot->loop.ctx = slot;
    pfd_multi_thread_loop(l->pool, &slot->loop);
}

static pfd_slot *add_in_flight(pfd_loader *l)
{
    if (l->end_in_flight - l->first_in_flight == l->prefetch) return NULL;
    pfd_slot *slot = pfd_slot_pool_take(l);
    if (!slot) return NULL;
    slot->epoch = l->begun_epoch;
    slot->step = l->begun_step;
    l->ring[l->end_in_flight++ % l->prefetch] = slot;
    return slot;
}

/* Random access: where a batch begins is asked of the chain, and its rows are made at once. */
static int32_t begin_batch(pfd_loader *l)
{
    if (l->plan.num_batches == 0) return 0;
    if (l->begun_step >= l->plan.num_batches) {
        l->begun_epoch++;
        l->begun_step = 0;
    }
    pfd_slot *slot = add_in_flight(l);
    if (!slot) return 0;
    l->begun_step++;
    slot->rows = INT64_MAX;
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        const pfd_dataset *chain = l->plan.readers[r].chain;
        int64_t begin, end;
        chain->methods->batch(chain, slot->step, &begin, &end);
        slot->first_positions[r] = begin;
        if (end - begin < slot->rows) slot->rows = end - begin;
    }
    begin_rows(l, slot);
    return 1;
}

/* ---- Filling from streams
 * --------------------------------------------------------------------------- */

static pfd_status seek_streams(pfd_loader *l, const pfd_slot *slot, pfd_error *err)
{
    if (!l->seek_streams) return PFD_OK;
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        pfd_data_reader *reader = &l->plan.readers[r];
        pfd_error_init(err);
        pfd_status status = pfd_dataset_seek(reader->chain, slot->epoch, slot->step, err);
        status = pfd_check_returned(status, "seek", err);
        if (status != PFD_OK) {
            pfd_data_reader_locate(reader, NULL, err);
            return status;
        }
    }
    l->seek_streams = 0;
    return PFD_OK;
}

static pfd_status read_batch(pfd_loader *l, pfd_data_reader *reader, pfd_record *records,
                             int64_t *n, pfd_error *err)
{
    *n = 0;
    pfd_error_init(err);
    pfd_status status = pfd_dataset_next(reader->chain, l->plan.local_batch_size,
                                         l->fill_slot->scratch, records, n, err);
    if (status == PFD_END && err->status == PFD_OK) return PFD_END;
    status = pfd_check_returned(status, "next", err);
    if (status != PFD_OK && err->ordinal < 0) pfd_data_reader_locate(reader, NULL, err);
    return status;
}

static pfd_status fail_zip(const pfd_loader *l, const pfd_data_reader *reader, pfd_error *err)
{
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "readers '%s' and '%s' differ in length: at step %" PRId64 " of epoch %" PRId64
                    " one ends before the other; zip=\"shortest\" ends the epoch with the shorter "
                    "one",
                    l->plan.readers[0].name, reader->name, l->fill_slot->step, l->fill_slot->epoch);
}

/* A batch of each reader; the one item of the filling loop. Also when one reader fails, the others
 * read theirs, and so stay in step. */
static pfd_status fill_batch(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    (void)begin, (void)end, (void)worker;
    pfd_loader *l = ctx;
    pfd_slot *slot = l->fill_slot;
    pfd_status failure = PFD_OK;
    int32_t ended = 0;
    pfd_scratch_reset(slot->scratch);
    PFD_TRY(seek_streams(l, slot, err));
    slot->rows = INT64_MAX;
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        pfd_data_reader *reader = &l->plan.readers[r];
        pfd_error other;
        int64_t n;
        pfd_status status = read_batch(l, reader, slot->records[r], &n, failure ? &other : err);
        if (status < PFD_OK) {
            if (!failure) failure = status;
            continue;
        }
        if (status == PFD_END) ended++;
        int32_t apart =
            (ended > 0 && ended != r + 1) || (slot->rows != INT64_MAX && n != slot->rows);
        if (!failure && apart && l->plan.zip == PFD_ZIP_STRICT) return fail_zip(l, reader, err);
        if (n < slot->rows) slot->rows = n;
    }
    slot->end = ended > 0;
    return failure;
}

static int32_t begin_filling(pfd_loader *l)
{
    if (l->filling || l->closed || !(l->fill_slot = add_in_flight(l))) return 0;
    l->filling = 1;
    pfd_multi_thread_loop(l->pool, &l->fill_loop);
    return 0; /* the next one begins when this one is filled */
}

/* A failure with a record is that record's group(): the chain counts it as a batch, which the
 * policy may leave out. After any other failure nobody knows where the stream stands. */
static void note_failed_filling(pfd_loader *l, pfd_slot *slot)
{
    const pfd_error *error = &l->fill_loop.error;
    int32_t counted = l->fill_loop.status == PFD_CORRUPT_DATA && error->ordinal >= 0;
    l->seek_streams = !counted;
    if (l->fill_loop.status == PFD_CORRUPT_DATA) l->begun_step++;
    slot->rows = 0;
    pfd_bad_row bad = {.error = *error};
    if (counted && strcmp(l->plan.readers[0].attrs->on_error, "raise") &&
        pfd_slot_add_bad_row(slot, &bad))
        return;
    slot->loop.status = l->fill_loop.status;
    slot->loop.error = *error;
}

static void batch_filled(void *ctx)
{
    pfd_loader *l = ctx;
    pfd_slot *slot = l->fill_slot;
    pthread_mutex_lock(&l->lock);
    l->filling = 0;
    pfd_slot_pool_count_scratch(l, slot);
    if (l->fill_loop.status != PFD_OK) {
        note_failed_filling(l, slot);
        mark_ready(l, slot);
    } else if (slot->end) {
        l->begun_epoch++;
        l->begun_step = 0;
        l->seek_streams = 1;
        mark_ready(l, slot);
    } else {
        l->begun_step++;
        begin_rows(l, slot);
    }
    if (l->fill_loop.status == PFD_OK || l->fill_loop.status == PFD_CORRUPT_DATA) begin_filling(l);
    pthread_mutex_unlock(&l->lock);
}

/* ---- Delivering (consumer held, lock held)
 * ------------------------------------------------------------ */

static void begin_more(pfd_loader *l)
{
    while (l->plan.stream ? begin_filling(l) : begin_batch(l)) continue;
}

/* Waits for a change until the deadline; 0: it has passed. */
static int32_t wait_for_change(pfd_loader *l, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                             .tv_nsec = (long)(deadline_ns % 1000000000)};
    int64_t since = pfd_clock_ns();
    int failure = pthread_cond_timedwait(&l->changed, &l->lock, &until);
    l->stats.wait_ns += pfd_clock_ns() - since;
    return failure != ETIMEDOUT;
}

/* Does a chunk of the earliest batch that has one left. */
static int32_t help(pfd_loader *l)
{
    for (int64_t t = l->first_in_flight; t < l->end_in_flight; t++) {
        pfd_slot *slot = l->ring[t % l->prefetch];
        if (!slot->begun || slot->ready) continue;
        pthread_mutex_unlock(&l->lock);
        int64_t since = pfd_clock_ns();
        int32_t helped = pfd_thread_pool_help(l->pool, &slot->loop);
        int64_t help_ns = pfd_clock_ns() - since;
        pthread_mutex_lock(&l->lock);
        if (helped) {
            l->stats.help_ns += help_ns;
            return 1;
        }
    }
    return 0;
}

static pfd_status check_disk(pfd_loader *l, pfd_error *err)
{
    for (int32_t r = 0; r < l->plan.num_readers; r++)
        PFD_TRY(pfd_data_reader_check_disk(&l->plan.readers[r], err));
    return PFD_OK;
}

static pfd_status check_guard(const pfd_loader *l, pfd_error *err)
{
    for (int32_t r = 0; r < l->plan.num_readers; r++)
        if (l->plan.readers[r].files) PFD_TRY(pfd_input_files_check(l->plan.readers[r].files, err));
    return PFD_OK;
}

/* Counts the records that were left out; PFD_CORRUPT_DATA when they are too many. */
static pfd_status report_bad_rows(pfd_loader *l, const pfd_slot *slot, pfd_error *err)
{
    for (int64_t i = 0; i < slot->num_bad_rows; i++) {
        const pfd_bad_row *bad = &slot->bad_rows[i];
        if (bad->filler) continue;
        int64_t most = l->plan.readers[bad->reader].attrs->max_errors;
        if (most >= 0 && l->errors_in_epoch >= most) {
            *err = bad->error;
            size_t used = strlen(err->message);
            (void)snprintf(err->message + used, sizeof err->message - used,
                           " (more bad records in this epoch than max_errors = %" PRId64 ")", most);
            return err->status;
        }
        l->errors_in_epoch++;
        pthread_mutex_lock(&l->lock);
        l->stats.skipped++;
        l->skipped[l->num_skipped++ % PFD_KEPT_SKIPPED] = bad->error;
        pthread_mutex_unlock(&l->lock);
    }
    return PFD_OK;
}

/* What is wrong with a finished batch. What looks like corrupt data may be a file that another
 * process has changed, and that is then the better message. */
static pfd_status inspect(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    pfd_status status = slot->loop.status;
    if (status == PFD_CORRUPT_DATA || slot->num_bad_rows || slot->step == 0)
        PFD_TRY(check_disk(l, err));
    PFD_TRY(check_guard(l, err));
    if (status != PFD_OK) {
        *err = slot->loop.error;
        return status;
    }
    return report_bad_rows(l, slot, err);
}

static pfd_status end_epoch(pfd_loader *l, pfd_error *err)
{
    PFD_TRY(check_disk(l, err));
    l->epoch++;
    l->step = 0;
    l->errors_in_epoch = 0;
    return PFD_END;
}

static pfd_status no_slot(const pfd_loader *l, pfd_error *err)
{
    if (pfd_slot_pool_has_budget(l))
        return pfd_fail_memory(err, l->plan.slot_bytes, "another batch");
    return pfd_fail(err, PFD_OUT_OF_MEMORY,
                    "all %d batches of %" PRId64 " bytes that memory_budget = %" PRId64
                    " allows are held by arrays; let go of some, copy what is to be kept, or raise "
                    "memory_budget",
                    l->num_held, l->plan.slot_bytes, l->memory_budget);
}

/* Waits until the next batch is ready, and takes it out of the ring; with `lock` held. The ring is
 * filled up when it is half empty: then there is work for which a thread is worth waking. */
static pfd_status take_ready(pfd_loader *l, int64_t deadline_ns, pfd_slot **out, pfd_error *err)
{
    if (l->first_in_flight == l->end_in_flight) begin_more(l);
    if (l->first_in_flight == l->end_in_flight) return no_slot(l, err);
    pfd_slot *slot = l->ring[l->first_in_flight % l->prefetch];
    while (!slot->ready) {
        if (help(l) && (slot->ready || pfd_clock_ns() < deadline_ns)) continue;
        if (!slot->ready && !wait_for_change(l, deadline_ns)) return PFD_PENDING;
    }
    l->first_in_flight++;
    if (l->end_in_flight - l->first_in_flight <= l->prefetch / 2) begin_more(l);
    *out = slot;
    return PFD_OK;
}

/* The fate of a batch that was taken out: with PFD_OK it is the caller's. */
static pfd_status judge(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    pfd_status status = slot->end ? end_epoch(l, err) : inspect(l, slot, err);
    if (status == PFD_OK || status == PFD_CORRUPT_DATA)
        l->step++;
    else if (status != PFD_END)
        l->restart = 1; /* the next call tries this batch again */
    return status;
}

pfd_status pfd_pipeline_next(pfd_loader *l, int64_t deadline_ns, pfd_batch *out, pfd_error *err)
{
    for (;;) {
        if (l->restart) PFD_TRY(pfd_pipeline_restart(l, deadline_ns, err));
        if (!l->plan.stream && l->step >= l->plan.num_batches) return end_epoch(l, err);
        pfd_slot *slot = NULL;
        pthread_mutex_lock(&l->lock);
        pfd_status status = take_ready(l, deadline_ns, &slot, err);
        pthread_mutex_unlock(&l->lock);
        if (status != PFD_OK) return status;
        status = judge(l, slot, err);
        /* A stream's batch of which only the report is left is none. */
        int32_t given = status == PFD_OK && (slot->rows > 0 || !slot->num_bad_rows || slot->begun);
        pthread_mutex_lock(&l->lock);
        if (given) {
            l->num_held++;
            l->stats.batches++;
            l->stats.records += slot->rows;
            *out = (pfd_batch){.memory = slot->memory,
                               .epoch = slot->epoch,
                               .step = slot->step,
                               .rows = slot->rows};
        } else {
            pfd_slot_pool_put(l, slot);
        }
        pthread_mutex_unlock(&l->lock);
        if (given || status != PFD_OK) return status;
    }
}

static pfd_status drain(pfd_loader *l, int64_t deadline_ns)
{
    while (l->first_in_flight < l->end_in_flight) {
        pfd_slot *slot = l->ring[l->first_in_flight % l->prefetch];
        while (!slot->ready)
            if (!wait_for_change(l, deadline_ns)) return PFD_PENDING;
        l->first_in_flight++;
        pfd_slot_pool_put(l, slot);
    }
    return PFD_OK;
}

pfd_status pfd_pipeline_restart(pfd_loader *l, int64_t deadline_ns, pfd_error *err)
{
    l->restart = 1;
    atomic_store(&l->cancel, 1);
    pthread_mutex_lock(&l->lock);
    pfd_status status = drain(l, deadline_ns);
    if (status == PFD_OK) {
        atomic_store(&l->cancel, 0);
        for (int32_t r = 0; status == PFD_OK && r < l->plan.num_readers; r++)
            status = pfd_data_reader_apply_seed(&l->plan.readers[r], err);
        l->begun_epoch = l->epoch;
        l->begun_step = l->step;
        l->seek_streams = 1;
        l->restart = status != PFD_OK;
    }
    pthread_mutex_unlock(&l->lock);
    return status;
}

/* ---- Counters (lock held)
 * ------------------------------------------------------------------------ */

void pfd_pipeline_count(pfd_loader *l)
{
    if (!l->closed && l->pool) {
        l->stats.slots_ready = 0;
        for (int64_t t = l->first_in_flight; t < l->end_in_flight; t++)
            l->stats.slots_ready += l->ring[t % l->prefetch]->ready;
        l->stats.idle_ns = pfd_thread_pool_idle_ns(l->pool);
        l->stats.bytes = 0;
        for (int32_t i = 0; i <= l->num_threads; i++)
            l->stats.bytes += atomic_load_explicit(&l->workers[i].bytes, memory_order_relaxed);
    }
    l->stats.slots = l->num_slots;
    l->stats.slots_held = l->num_held;
    l->stats.slot_bytes = l->num_slots * l->plan.slot_bytes;
}

/* ---- Opening and closing
 * --------------------------------------------------------------------------- */

static pfd_status fit_into_budget(pfd_loader *l, pfd_error *err)
{
    int64_t most = l->memory_budget / l->plan.slot_bytes;
    if (most < 1)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "one batch of %" PRId64 " rows takes %" PRId64
                        " bytes, memory_budget is %" PRId64
                        "; lower batch_size or raise memory_budget",
                        l->plan.local_batch_size, l->plan.slot_bytes, l->memory_budget);
    if (l->prefetch > most - 2) l->prefetch = most > 3 ? (int32_t)(most - 2) : 1;
    return PFD_OK;
}

static pfd_status allocate(pfd_loader *l, pfd_error *err)
{
    l->ring = calloc((size_t)l->prefetch, sizeof(pfd_slot *));
    l->skipped = calloc(PFD_KEPT_SKIPPED, sizeof *l->skipped);
    l->workers = calloc((size_t)l->num_threads + 1, sizeof *l->workers);
    int32_t whole = l->ring && l->skipped && l->workers;
    for (int32_t i = 0; whole && i <= l->num_threads; i++)
        whole = pfd_worker_open(&l->plan, &l->workers[i]);
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
    PFD_TRY(fit_into_budget(l, err));
    PFD_TRY(allocate(l, err));
    l->fill_loop = (pfd_loop){.n = 1, .chunk = 1, .fn = fill_batch, .done = batch_filled, .ctx = l};
    l->seek_streams = 1;
    return pfd_thread_pool_create(l->num_threads, &l->pool, err);
}

void pfd_pipeline_close(pfd_loader *l)
{
    if (l->closed) return;
    atomic_store(&l->cancel, 1);
    pthread_mutex_lock(&l->lock);
    pfd_pipeline_count(l);
    l->closed = 1; /* from here on, nobody else looks at pool and workers */
    pthread_mutex_unlock(&l->lock);
    pfd_thread_pool_free(l->pool);
    l->pool = NULL;
    pthread_mutex_lock(&l->lock);
    for (; l->first_in_flight < l->end_in_flight; l->first_in_flight++)
        pfd_slot_pool_put(l, l->ring[l->first_in_flight % l->prefetch]);
    while (l->free_slots) {
        pfd_slot *slot = l->free_slots;
        l->free_slots = slot->next_free;
        pfd_slot_pool_put(l, slot);
    }
    pthread_mutex_unlock(&l->lock);
    for (int32_t i = 0; l->workers && i <= l->num_threads; i++)
        pfd_worker_close(&l->plan, &l->workers[i]);
    for (int32_t r = 0; l->plan.readers && r < l->plan.num_readers; r++)
        pfd_data_reader_close_files(&l->plan.readers[r]);
    free(l->workers);
    free(l->ring);
    l->workers = NULL;
    l->ring = NULL;
}
