/* Starts the batches of the ring, makes them stage after stage, delivers them in order, and takes
 * their slots back. */
#include "loader/ring/ring.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/system_calls.h"
#include "dataset/dataset.h"
#include "files/remote_file.h"
#include "loader/ring/slots.h"
#include "loader/rows/ragged_rows.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The stages of a batch: row loops, ops over the whole batch, the joining of ragged rows -- */

/* Batches with fewer bytes are joined without a loop; a piece of the loop has about this number of
 bytes.
 */
enum { JOIN_BYTES = 256 * 1024 };

static void start_stage(pfd_loader *l, pfd_slot *slot, int32_t stage);

/* The loop of a stage. Every slot has loop 0; the others exist only if the plan needs them. */
static pfd_loop *loop_of(pfd_slot *slot, int32_t stage)
{
    return stage == 0 ? &slot->loop : &slot->more_loops[stage - 1];
}

static pfd_loop *current_loop(pfd_slot *slot)
{
    return loop_of(slot, slot->batch.stage);
}

/* Whether the stream continues with the next batch after this loop failed: only a record was
 * damaged. */
static int32_t can_pass(const pfd_loop *loop)
{
    return loop->error ? pfd_error_can_pass(loop->status, loop->error)
                       : loop->status == PFD_CORRUPT_DATA;
}

static int32_t note_skipped_row(pfd_row_batch *batch, const pfd_skipped_row *skipped)
{
    pfd_loader *l = ((pfd_slot *)batch)->loader;
    pthread_mutex_lock(&l->lock);
    int32_t noted = pfd_skipped_rows_add(batch, skipped);
    pthread_mutex_unlock(&l->lock);
    return noted;
}

static pfd_status take_arenas(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    pthread_mutex_lock(&l->lock);
    int32_t taken = slot->batch.arenas || pfd_slot_pool_take_arenas(l, slot);
    pthread_mutex_unlock(&l->lock);
    return taken ? PFD_OK : pfd_fail_memory(err, sizeof *slot->batch.arenas, "the rows of a batch");
}

static pfd_status make_rows(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    pfd_slot *slot = ctx;
    pfd_loader *l = slot->loader;
    if (l->plan.keeps_bytes) PFD_TRY(take_arenas(l, slot, err));
    return pfd_kernel_chain_run(&l->plan, &l->workers[worker], &slot->batch, begin, end,
                                note_skipped_row, err);
}

static pfd_status make_batch(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    (void)begin, (void)end;
    pfd_slot *slot = ctx;
    return make_rows(ctx, 0, slot->batch.rows, worker, err);
}

static pfd_status join_rows(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    (void)err;
    pfd_slot *slot = ctx;
    pfd_loader *l = slot->loader;
    pfd_work *work = &l->workers[worker].work;
    int32_t item = pfd_work_joining(&l->plan);
    pfd_work_begin(work, l->plan.num_stages, slot->batch.epoch, slot->batch.step, begin,
                   end - begin);
    pfd_work_start(work, item);
    pfd_ragged_rows_join(&l->plan, &slot->batch, begin, end);
    pfd_work_done(work, item, end - begin);
    pfd_work_end(work);
    return PFD_OK;
}

static pfd_status fail_values(const pfd_slot *slot, int64_t bytes, pfd_error *err)
{
    char step[64] = "the rows";
    if (slot->batch.step >= 0)
        snprintf(step, sizeof step, "step %" PRId64 " of epoch %" PRId64, slot->batch.step,
                 slot->batch.epoch);
    return pfd_fail(err, PFD_OUT_OF_MEMORY,
                    "the values of %s take %s%" PRId64 " bytes, but memory_budget is %" PRId64
                    "; lower batch_size or raise memory_budget",
                    step, bytes < 0 ? "more than " : "", bytes < 0 ? (int64_t)1 << 46 : bytes,
                    slot->loader->memory_budget);
}

/* Makes room for the values of this batch, and some more, so that those of the next ones fit too.
 */
static pfd_status make_room(pfd_slot *slot, int64_t bytes, pfd_error *err)
{
    pfd_loader *l = slot->loader;
    pfd_row_batch *batch = &slot->batch;
    if (bytes < 0 || bytes > l->memory_budget) return fail_values(slot, bytes, err);
    if (bytes > batch->values_capacity || !batch->values) {
        int64_t capacity = (bytes + bytes / 8 + 64) / 64 * 64;
        free(batch->values);
        batch->values = aligned_alloc(64, (size_t)capacity);
        batch->values_capacity = batch->values ? capacity : 0;
    }
    pthread_mutex_lock(&l->lock);
    pfd_slot_pool_count_values(l, slot, bytes);
    pthread_mutex_unlock(&l->lock);
    return batch->values ? PFD_OK : pfd_fail_memory(err, bytes, "the values of a batch");
}

static void put_arenas(pfd_slot *slot)
{
    if (!slot->batch.arenas) return;
    pfd_arenas_reset(slot->batch.arenas);
    pthread_mutex_lock(&slot->loader->lock);
    pfd_slot_pool_put_arenas(slot->loader, slot);
    pthread_mutex_unlock(&slot->loader->lock);
}

/* Checks the files of a batch in the thread that has made the batch.  If a file has changed, the
 * check in next() reports it. */
static void look_early(pfd_loader *l, pfd_slot *slot)
{
    pfd_error err;
    pfd_status status = PFD_OK;
    for (int32_t r = 0; r < l->plan.num_readers && status == PFD_OK; r++) {
        pfd_error_init(&err);
        status = pfd_data_reader_check_files(&l->plan.readers[r], slot->batch.files, &err);
    }
    slot->is_checked = status == PFD_OK;
}

static void finish(pfd_slot *slot)
{
    pfd_loader *l = slot->loader;
    put_arenas(slot);
    if (l->looks_early && slot->loop.status == PFD_OK) look_early(l, slot);
    pthread_mutex_lock(&l->lock);
    pfd_ring_mark_ready(l, slot);
    pthread_mutex_unlock(&l->lock);
}

/* The failure of a later loop becomes the failure of the batch. */
static void take_failure(pfd_slot *slot, pfd_loop *loop)
{
    pfd_error *former = slot->loop.error;
    slot->loop.status = loop->status;
    slot->loop.error = loop->error; /* swapped: both are freed with the slot */
    loop->error = former;
}

static void fail_batch(pfd_slot *slot, pfd_status status, const pfd_error *err)
{
    if (!slot->loop.error) slot->loop.error = malloc(sizeof *err);
    if (slot->loop.error) *slot->loop.error = *err;
    slot->loop.status = status;
}

/* Starts joining ragged rows.  Returns 0 if there is nothing to wait for. */
static int32_t start_joining(pfd_slot *slot)
{
    pfd_loader *l = slot->loader;
    pfd_row_batch *batch = &slot->batch;
    pfd_error err;
    pfd_error_init(&err);
    int64_t bytes = pfd_ragged_rows_measure(&l->plan, batch);
    pfd_status status = make_room(slot, bytes, &err);
    if (status != PFD_OK) {
        fail_batch(slot, status, &err);
        return 0;
    }
    pfd_ragged_rows_place(&l->plan, batch);
    if (bytes < JOIN_BYTES) {
        pfd_ragged_rows_join(&l->plan, batch, 0, batch->rows);
        return 0;
    }
    pthread_mutex_lock(&l->lock);
    start_stage(l, slot, l->plan.num_stages);
    pthread_mutex_unlock(&l->lock);
    return 1;
}

static void stage_done(void *ctx)
{
    pfd_slot *slot = ctx;
    pfd_loader *l = slot->loader;
    pfd_row_batch *batch = &slot->batch;
    int32_t num_stages = l->plan.num_stages;
    pfd_loop *loop = current_loop(slot);
    if (loop->status != PFD_OK) {
        if (loop != &slot->loop) take_failure(slot, loop);
        finish(slot);
        return;
    }
    if (batch->stage < num_stages) pfd_skipped_rows_remove(&l->plan, batch);
    if (batch->stage + 1 < num_stages && batch->rows > 0) {
        pthread_mutex_lock(&l->lock);
        start_stage(l, slot, batch->stage + 1);
        pthread_mutex_unlock(&l->lock);
        return;
    }
    if (batch->stage < num_stages) {
        pfd_skipped_rows_put_back(&l->plan, batch);
        if (l->plan.num_ragged && start_joining(slot)) return;
    }
    finish(slot);
}

/* Called with `lock` held, so that a helping caller sees a loop only after it has started. */
static void start_stage(pfd_loader *l, pfd_slot *slot, int32_t stage)
{
    pfd_loop *loop = loop_of(slot, stage);
    slot->batch.stage = stage;
    loop->done = stage_done;
    loop->ctx = slot;
    loop->n = slot->batch.rows;
    if (stage == l->plan.num_stages) {
        int64_t pieces = slot->batch.values_capacity / JOIN_BYTES + 1;
        loop->chunk = slot->batch.rows / pieces + 1;
        loop->fn = join_rows;
    } else if (stage % 2) {
        loop->n = loop->chunk = 1;
        loop->fn = make_batch;
    } else {
        loop->chunk = l->plan.chunk_rows;
        loop->fn = make_rows;
    }
    if (stage == 0)
        pfd_multi_thread_loop(l->threads.pool, loop);
    else
        pfd_multi_thread_loop_first(l->threads.pool, loop);
}

/* Starts the loops over the slot's rows; the last one marks the slot ready.  With `lock` held. */
static void start_stages(pfd_loader *l, pfd_slot *slot)
{
    slot->started = 1;
    if (slot->batch.rows > 0) {
        start_stage(l, slot, 0);
        return;
    }
    (void)pfd_ragged_rows_measure(&l->plan, &slot->batch); /* an empty batch has row_splits too */
    pfd_ragged_rows_place(&l->plan, &slot->batch);
    pfd_ring_mark_ready(l, slot);
}

/* All stages, one after the other, without joining. */
static pfd_status run_stages(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    const pfd_plan *plan = &l->plan;
    pfd_row_batch *batch = &slot->batch;
    for (batch->stage = 0; batch->stage < plan->num_stages && batch->rows > 0; batch->stage++) {
        int32_t is_whole = batch->stage % 2;
        PFD_TRY(pfd_single_thread_loop(is_whole ? 1 : batch->rows, is_whole ? 1 : plan->chunk_rows,
                                       is_whole ? make_batch : make_rows, slot,
                                       l->threads.most_threads, err));
        pfd_skipped_rows_remove(plan, batch);
    }
    pfd_skipped_rows_put_back(plan, batch);
    return PFD_OK;
}

/* Makes the batch of a slot outside the ring on the calling thread, as worker most_threads, without
 * `lock`. */
static pfd_status make_at_once(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    pfd_row_batch *batch = &slot->batch;
    pfd_status status = run_stages(l, slot, err);
    if (status == PFD_OK && l->plan.num_ragged) {
        status = make_room(slot, pfd_ragged_rows_measure(&l->plan, batch), err);
        if (status == PFD_OK) {
            pfd_ragged_rows_place(&l->plan, batch);
            pfd_ragged_rows_join(&l->plan, batch, 0, batch->rows);
        }
    }
    put_arenas(slot);
    return status;
}

/* ---- Streams: reading the records of one batch after the other ------------------------------- */

static pfd_status seek_streams(pfd_loader *l, const pfd_slot *slot, pfd_error *err)
{
    int64_t epoch = slot->batch.epoch, step = slot->batch.step;
    if (!l->seek_streams) return PFD_OK;
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        pfd_data_reader *reader = &l->plan.readers[r];
        pfd_error_clear(err);
        pfd_status status = pfd_dataset_seek(reader->chain, epoch, step, err);
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
    pfd_error_clear(err);
    pfd_status status = pfd_dataset_next(reader->chain, l->plan.local_batch_size,
                                         l->produced->scratch, records, n, err);
    if (status == PFD_END && err->status == PFD_OK) return PFD_END;
    status = pfd_check_returned(status, "next", err);
    status = pfd_scratch_explain(l->produced->scratch, status, err);
    if (status != PFD_OK && err->ordinal < 0) pfd_data_reader_locate(reader, NULL, err);
    return status;
}

static pfd_status fail_zip(const pfd_loader *l, const pfd_data_reader *reader, pfd_error *err)
{
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "readers '%s' and '%s' differ in length: at step %" PRId64 " of epoch %" PRId64
                    " one ends before the other; zip=\"shortest\" ends the epoch with the shorter "
                    "one",
                    l->plan.readers[0].name, reader->name, l->produced->batch.step,
                    l->produced->batch.epoch);
}

/* Reads a batch of each reader: all that the producer's loop does.  When one reader fails, the
 * others still read their batches, and so stay in step. */
static pfd_status read_batches(pfd_loader *l, pfd_work *work, pfd_error *err)
{
    pfd_slot *slot = l->produced;
    pfd_row_batch *batch = &slot->batch;
    pfd_status failure = PFD_OK;
    int32_t ended = 0;
    pfd_scratch_reset(slot->scratch);
    pfd_work_start(work, pfd_work_reading(&l->plan, 0));
    PFD_TRY(seek_streams(l, slot, err));
    batch->rows = INT64_MAX;
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        pfd_data_reader *reader = &l->plan.readers[r];
        pfd_error other;
        pfd_error_init(&other);
        int64_t n;
        pfd_work_start(work, pfd_work_reading(&l->plan, r));
        pfd_status status = read_batch(l, reader, batch->records[r], &n, failure ? &other : err);
        if (n) pfd_work_done(work, pfd_work_reading(&l->plan, r), n);
        if (status < PFD_OK) {
            if (!failure) failure = status;
            continue;
        }
        if (status == PFD_END) ended++;
        int32_t apart =
            (ended > 0 && ended != r + 1) || (batch->rows != INT64_MAX && n != batch->rows);
        if (!failure && apart && l->plan.zip == PFD_ZIP_STRICT) return fail_zip(l, reader, err);
        if (n < batch->rows) batch->rows = n;
    }
    slot->end = ended > 0;
    return failure;
}

static pfd_status produce(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    (void)begin, (void)end;
    pfd_loader *l = ctx;
    pfd_slot *slot = l->produced;
    pfd_row_batch *batch = &slot->batch;
    pfd_work *work = &l->workers[worker].work;
    pfd_work_begin(work, l->plan.num_stages + 1, batch->epoch, batch->step, 0,
                   l->plan.local_batch_size);
    int64_t own = pfd_loader_own_step(l, batch->step);
    pfd_status status = read_batches(l, work, err);
    while (status == PFD_OK && !slot->end && batch->step < own) { /* a step of another share */
        batch->step++;
        status = read_batches(l, work, err);
    }
    pfd_work_end(work);
    return status;
}

/* Notes the failure of a batch that could not be read. If the error has a record, its group()
 * failed: the chain counts that as a batch, which on_error may skip. After any other failure the
 * position of the stream is unknown, so the producer seeks. */
static void note_failure(pfd_loader *l, pfd_slot *slot, int32_t passed)
{
    pfd_error *error = l->producer.error;
    int32_t counted = passed && error && error->ordinal >= 0;
    l->seek_streams = !counted;
    if (passed) l->next_step = slot->batch.step + 1;
    slot->batch.rows = 0;
    pfd_skipped_row skipped = {.error = error};
    if (counted && l->plan.readers[0].attrs->on_error != PFD_ON_ERROR_RAISE &&
        pfd_skipped_rows_add(&slot->batch, &skipped))
        return;
    slot->loop.status = l->producer.status;
    l->producer.error = slot->loop.error; /* swapped: both are freed by their owners */
    slot->loop.error = error;
}

/* Once a stream has ended, it is known how far ahead an epoch is. */
static void note_length(pfd_loader *l, int64_t num_batches)
{
    l->plan.known_batches = num_batches + 1; /* its end takes a slot, too */
    if (!l->chooses_prefetch || l->tuning) return;
    int32_t usual = pfd_plan_usual_prefetch(&l->plan, l->num_threads);
    l->prefetch = usual < l->most_prefetch ? usual : l->most_prefetch;
}

static void start_producer(pfd_loader *l);

static void batch_produced(void *ctx)
{
    pfd_loader *l = ctx;
    pfd_slot *slot = l->produced;
    pthread_mutex_lock(&l->lock);
    l->producing = 0;
    int32_t passed = can_pass(&l->producer);
    pfd_slot_pool_count_scratch(l, slot);
    if (l->producer.status != PFD_OK) {
        note_failure(l, slot, passed);
        pfd_ring_mark_ready(l, slot);
    } else if (slot->end) {
        note_length(l, slot->batch.step);
        l->next_epoch++;
        l->next_step = 0;
        l->seek_streams = 1;
        pfd_ring_mark_ready(l, slot);
    } else {
        l->next_step = slot->batch.step + 1;
        start_stages(l, slot);
    }
    if (l->producer.status == PFD_OK || passed) start_producer(l);
    pthread_mutex_unlock(&l->lock);
}

/* Starts the producer, unless it runs or the ring has no room. */
static void start_producer(pfd_loader *l)
{
    if (l->producing || l->closed || !(l->produced = pfd_ring_add(l))) return;
    l->producing = 1;
    l->producer.n = l->producer.chunk = 1;
    l->producer.fn = produce;
    l->producer.done = batch_produced;
    l->producer.ctx = l;
    pfd_multi_thread_loop(l->threads.pool, &l->producer);
}

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
    pfd_row_batch *batch = &slot->batch;
    l->next_step++;
    int64_t rows = INT64_MAX, from, to;
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        const pfd_dataset *logical = l->plan.readers[r].logical;
        int64_t end;
        logical->methods->batch(logical, batch->epoch, batch->step, &batch->first_positions[r],
                                &end);
        if (end - batch->first_positions[r] < rows) rows = end - batch->first_positions[r];
    }
    const pfd_reader_attrs *attrs = l->plan.readers[0].attrs; /* ranks are the same in all */
    pfd_rank_rows(rows, attrs->rank, attrs->world_size, &from, &to);
    for (int32_t r = 0; r < l->plan.num_readers; r++) batch->first_positions[r] += from;
    batch->rows = to - from;
    start_stages(l, slot);
    return 1;
}

static void start_more(pfd_loader *l)
{
    if (l->plan.stream)
        start_producer(l);
    else
        while (start_batch(l)) continue;
}

/* ---- Delivering (consumer held; lock held only where a comment says so) ---------------------- */

/* Waits for a change until the deadline, with `lock` held.  Returns 0 after the deadline. */
static int32_t wait_for_change(pfd_loader *l, int64_t deadline_ns)
{
    int64_t since = pfd_clock_ns();
    int32_t is_in_time = pfd_cond_wait_until(&l->changed, &l->lock, deadline_ns);
    int64_t now = pfd_clock_ns();
    pfd_steps_spend(&l->counters.steps, PFD_TIME_WAIT, now - since);
    if (l->traces.on) pfd_trace_wait(l->traces.on, since, now);
    return is_in_time;
}

/* Whether rows may wait for a store.  Such work is left to the pool: a caller in such a wait does
 * not take a batch that has become ready. */
static int32_t may_wait(const pfd_loader *l)
{
    int32_t found = 0;
    for (int32_t r = 0; r < l->plan.num_readers; r++) found |= l->plan.readers[r].is_in_store;
    return found;
}

/* Works on a piece of the earliest batch that has one left. `lock` is held except during the
 * work. */
static int32_t help(pfd_loader *l)
{
    if (may_wait(l)) return 0;
    for (int64_t i = 0; i < pfd_ring_size(l); i++) {
        pfd_slot *slot = pfd_ring_at(l, i);
        if (!slot->started || slot->ready) continue;
        pfd_loop *loop = current_loop(slot);
        pthread_mutex_unlock(&l->lock);
        int64_t since = pfd_clock_ns();
        int32_t helped = pfd_thread_pool_help(l->threads.pool, loop);
        int64_t help_ns = pfd_clock_ns() - since;
        pthread_mutex_lock(&l->lock);
        if (helped) {
            pfd_steps_spend(&l->counters.steps, PFD_TIME_HELP, help_ns);
            return 1;
        }
    }
    return 0;
}

#define CHECK_EVERY_NS INT64_C(1000000000) /* how often to check whether files have changed */

/* Checks all files on disk: in a thread of the pool, or where an error is to be explained. */
static pfd_status check_disk(pfd_loader *l, pfd_error *err)
{
    int64_t since = pfd_clock_ns();
    for (int32_t r = 0; r < l->plan.num_readers; r++)
        PFD_TRY(pfd_data_reader_check_disk(&l->plan.readers[r], err));
    atomic_store_explicit(&l->checker_ns, pfd_clock_ns() - since, memory_order_relaxed);
    return PFD_OK;
}

static pfd_status check_ahead(void *ctx, int64_t begin, int64_t end, int32_t worker,
                              pfd_error *err)
{
    (void)begin, (void)end, (void)worker;
    return check_disk(ctx, err);
}

static void checked(void *ctx)
{
    pfd_loader *l = ctx;
    int32_t has_failed = l->checker.status != PFD_OK;
    pthread_mutex_lock(&l->lock);
    l->counters.stats.file_checks++;
    atomic_store(&l->check_state, has_failed ? PFD_CHECK_FAILED : PFD_CHECK_NONE);
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

/* Lets a thread of the pool check all files, unless one does so already.  The files of each batch
 * are checked separately, before the batch is delivered; this check finds changes in files that are
 * not read yet.  It takes at most a hundredth of the time. */
static void start_check(pfd_loader *l)
{
    int64_t pause = 100 * atomic_load_explicit(&l->checker_ns, memory_order_relaxed);
    l->next_check_ns = l->called_ns + (pause > CHECK_EVERY_NS ? pause : CHECK_EVERY_NS);
    if (atomic_load(&l->check_state) != PFD_CHECK_NONE) return;
    atomic_store(&l->check_state, PFD_CHECK_RUNS);
    l->checker.n = l->checker.chunk = 1;
    l->checker.fn = check_ahead;
    l->checker.done = checked;
    l->checker.ctx = l;
    pfd_multi_thread_loop_first(l->threads.pool, &l->checker);
}

/* Waits for the running check of all files, or makes the check if no thread of the pool has started
 * it; with `lock` held.  Returns 0 after the deadline. */
static int32_t finish_check(pfd_loader *l, int64_t deadline_ns)
{
    while (atomic_load(&l->check_state) == PFD_CHECK_RUNS) {
        pthread_mutex_unlock(&l->lock);
        int64_t since_ns = pfd_clock_ns();
        int32_t made = pfd_thread_pool_help(l->threads.pool, &l->checker);
        int64_t made_ns = pfd_clock_ns() - since_ns;
        pthread_mutex_lock(&l->lock);
        if (made)
            pfd_steps_spend(&l->counters.steps, PFD_TIME_CHECK, made_ns);
        else if (atomic_load(&l->check_state) == PFD_CHECK_RUNS &&
                 !wait_for_change(l, deadline_ns))
            return 0;
    }
    return 1;
}

/* A check in the pool has failed: a second check, made now, gives the error; if it gives none, the
 * files are again as at open. */
static pfd_status explain_check(pfd_loader *l, pfd_error *err)
{
    if (atomic_load(&l->check_state) != PFD_CHECK_FAILED) return PFD_OK;
    PFD_TRY(check_disk(l, err));
    atomic_store(&l->check_state, PFD_CHECK_NONE);
    return PFD_OK;
}

static pfd_status check_guard(const pfd_loader *l, pfd_error *err)
{
    for (int32_t r = 0; r < l->plan.num_readers; r++)
        PFD_TRY(pfd_data_reader_check_guard(&l->plan.readers[r], err));
    return PFD_OK;
}

/* Adds the files of a complete batch to the next check of files; with `lock` held. */
static void add_to_look(pfd_loader *l, pfd_slot *slot)
{
    slot->is_checked = 1;
    for (int64_t i = 0; i < l->plan.num_file_words; i++)
        l->looked_at[i] |= atomic_load_explicit(&slot->batch.files[i], memory_order_relaxed);
}

/* A batch is delivered only after a check of its files that is later than the last read of their
 * bytes: if the files are then as at open, so were the bytes.  One check covers all batches that
 * are complete. */
static pfd_status check_read_files(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    enum { PART = 100 }; /* looks take a hundredth of the time, if batches can wait for them */
    if (slot->is_checked) return PFD_OK;
    int64_t since_ns = pfd_clock_ns();
    pthread_mutex_lock(&l->lock);
    for (int64_t i = 0; i < l->plan.num_file_words; i++) l->looked_at[i] = 0;
    add_to_look(l, slot);
    for (int64_t i = 0; i < pfd_ring_size(l); i++)
        if (pfd_ring_at(l, i)->ready) add_to_look(l, pfd_ring_at(l, i));
    pthread_mutex_unlock(&l->lock);
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        pfd_status status = pfd_data_reader_check_files(&l->plan.readers[r], l->looked_at, err);
        if (status == PFD_OK) continue;
        l->restart = 1; /* the others are not as checked as they say */
        return status;
    }
    int64_t done_ns = pfd_clock_ns();
    l->next_look_ns = done_ns + PART * (done_ns - since_ns);
    l->check_ns += done_ns - since_ns;
    return PFD_OK;
}

/* Records of an epoch that this rank has; of a stream, those up to the end of a step. */
static int64_t count_records(const pfd_data_reader *reader, int64_t step)
{
    int64_t world_size = reader->attrs->world_size;
    if (reader->num_records < 0) return (step + 1) * reader->local_batch_size;
    return reader->num_records / world_size + (reader->num_records % world_size != 0);
}

/* How many records of an epoch may be skipped; -1: any number.  A small epoch may lose 10 records,
 * however small a share is permitted. */
static int64_t most_skipped(const pfd_loader *l, int32_t r, int64_t step)
{
    enum { LEAST = 10 };
    const pfd_data_reader *reader = &l->plan.readers[r];
    const pfd_reader_attrs *attrs = reader->attrs;
    if (attrs->max_skipped < 0) return attrs->max_errors;
    if (attrs->max_skipped >= 1 || attrs->max_skipped == 0) return (int64_t)attrs->max_skipped;
    double share = attrs->max_skipped * (double)count_records(reader, step);
    return share > LEAST ? (int64_t)share : LEAST;
}

/* Returns the first record that exceeds max_skipped, or NULL. errors_in_epoch is the sum over all
 * readers; it is compared with the limit of the reader of the record. */
static const pfd_skipped_row *one_too_many(const pfd_loader *l, const pfd_slot *slot)
{
    int64_t errors = l->errors_in_epoch;
    for (int64_t i = 0; i < slot->batch.num_skipped_rows; i++) {
        const pfd_skipped_row *skipped = &slot->batch.skipped_rows[i];
        int64_t most = most_skipped(l, skipped->reader, slot->batch.step);
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
    for (int64_t i = 0; i < slot->batch.num_skipped_rows; i++) {
        if (slot->batch.skipped_rows[i].filler) continue;
        errors++;
        l->counters.stats.skipped++;
        const pfd_error *error = slot->batch.skipped_rows[i].error;
        if (error) l->skipped[l->num_skipped++ % PFD_KEPT_SKIPPED] = *error;
    }
    pthread_mutex_unlock(&l->lock);
    return errors;
}

/* Adds to the failure of a record why it is not skipped. */
static void say_limit(const pfd_loader *l, int32_t r, int64_t step, pfd_error *err)
{
    const pfd_reader_attrs *attrs = l->plan.readers[r].attrs;
    char *end = err->message + strlen(err->message);
    size_t room = sizeof err->message - strlen(err->message);
    if (attrs->max_skipped < 0)
        (void)snprintf(end, room,
                       " (more bad records in this epoch than max_errors = %" PRId64 ")",
                       attrs->max_errors);
    else {
        int64_t most = most_skipped(l, r, step);
        (void)snprintf(end, room,
                       " (%" PRId64 " record%s of this epoch %s skipped already, as many as "
                       "max_skipped = %g allows: %s-1 is no limit)",
                       most, most == 1 ? "" : "s", most == 1 ? "was" : "were", attrs->max_skipped,
                       attrs->max_skipped > 0 && attrs->max_skipped < 1
                           ? "a share allows at least 10; " : "");
    }
}

/* Counts the skipped records.  PFD_CORRUPT_DATA: they are too many. */
static pfd_status report_skipped_rows(pfd_loader *l, const pfd_slot *slot, pfd_error *err)
{
    if (!slot->batch.num_skipped_rows) return PFD_OK;
    const pfd_skipped_row *skipped = one_too_many(l, slot);
    if (skipped) {
        if (skipped->error)
            pfd_error_copy(err, skipped->error);
        else
            (void)pfd_fail(err, PFD_CORRUPT_DATA, "a record is damaged");
        say_limit(l, skipped->reader, slot->batch.step, err);
        return err->status;
    }
    l->errors_in_epoch += note_skipped_rows(l, slot);
    return PFD_OK;
}

/* A file that a record names is opened for each record, such as an image.  One that was written
 * after the loader was opened is not damaged: it changed. */
static pfd_status check_named_file(const pfd_loader *l, const pfd_error *damage, pfd_error *err)
{
    struct stat st;
    if (!damage || !damage->file[0]) return PFD_OK;
    if (pfd_sys_stat(&l->bounds, AT_FDCWD, damage->file, &st) != 0) return PFD_OK;
    int64_t written_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    if (!S_ISREG(st.st_mode) || written_ns <= l->opened_ns) return PFD_OK;
    const pfd_error found = *damage; /* it may be *err */
    return pfd_fail_file(err, found.file,
                         "the file changed while open: it was written after the loader was opened, "
                         "and now: %.400s", found.message);
}

static pfd_status check_named_files(const pfd_loader *l, const pfd_slot *slot, pfd_error *err)
{
    if (slot->loop.status == PFD_CORRUPT_DATA) PFD_TRY(check_named_file(l, slot->loop.error, err));
    for (int64_t i = 0; i < slot->batch.num_skipped_rows; i++)
        PFD_TRY(check_named_file(l, slot->batch.skipped_rows[i].error, err));
    return PFD_OK;
}

/* Data may look corrupt because another process has changed the file: the change is the better
 * message. */
static pfd_status check_files(pfd_loader *l, pfd_slot *slot, pfd_status status, pfd_error *err)
{
    if (status == PFD_CORRUPT_DATA || status == PFD_IO || slot->batch.num_skipped_rows)
        PFD_TRY(check_disk(l, err));
    else if (slot->batch.step == l->share || l->called_ns >= l->next_check_ns)
        start_check(l);
    PFD_TRY(explain_check(l, err));
    PFD_TRY(check_named_files(l, slot, err));
    if (status == PFD_OK) PFD_TRY(check_read_files(l, slot, err));
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

/* Counts once, if several loaders share the steps.  Readers are zipped: the first one stands for
 * all. */
static void note_left_out(pfd_loader *l)
{
    int64_t records = atomic_load(&l->plan.readers[0].left_out);
    if (l->share > 0 || records <= 0) return;
    pthread_mutex_lock(&l->lock);
    l->counters.stats.left_out += records;
    pthread_mutex_unlock(&l->lock);
}

static pfd_status end_epoch(pfd_loader *l, pfd_error *err)
{
    PFD_TRY(explain_check(l, err));
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

/* Whether a batch that is ready waits for others, so that one check of files covers all of them:
 * the last check was a moment ago, and the others are being made. */
static int32_t gathers(pfd_loader *l, const pfd_slot *slot, int64_t deadline_ns)
{
    if (!slot->ready || slot->is_checked || l->num_ready >= pfd_ring_size(l)) return 0;
    int64_t now_ns = pfd_clock_ns();
    return now_ns < l->next_look_ns && now_ns < deadline_ns;
}

/* With `lock` held. */
static void ask(pfd_loader *l, int32_t is_ready)
{
    pfd_steps_ask(&l->counters.steps, &l->caller, l->called_ns, is_ready);
}

/* Waits until the next batch is ready, and takes it out of the ring; with `lock` held. The ring is
 * filled when it is half empty: then there is enough work to wake a thread for it. */
static pfd_status take_ready(pfd_loader *l, int64_t deadline_ns, pfd_slot **out, pfd_error *err)
{
    if (pfd_ring_size(l) == 0) start_more(l);
    if (pfd_ring_size(l) == 0) {
        ask(l, 0);
        return no_slot(l, err);
    }
    pfd_slot *slot = pfd_ring_at(l, 0);
    ask(l, slot->ready);
    while (!slot->ready || gathers(l, slot, deadline_ns)) {
        if (help(l) && (slot->ready || pfd_clock_ns() < deadline_ns)) continue;
        int64_t until_ns = deadline_ns;
        if (slot->ready && l->next_look_ns < until_ns) until_ns = l->next_look_ns;
        if (!wait_for_change(l, until_ns) && !slot->ready) return PFD_PENDING;
    }
    if (slot->end && !finish_check(l, deadline_ns)) return PFD_PENDING;
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
                     (slot->loop.status == PFD_OK || can_pass(&slot->loop));
    if (status == PFD_OK || passed)
        l->step = slot->batch.step + 1;
    else if (status != PFD_END)
        l->restart = 1; /* the next call tries this batch again */
    return status;
}

/* Rows that were left out of a batch, and not padded. */
static int64_t count_removed(const pfd_row_batch *batch)
{
    int64_t removed = 0;
    for (int64_t i = 0; i < batch->num_skipped_rows; i++) removed += !batch->skipped_rows[i].pad;
    return removed;
}

/* Records of a batch that were left out or padded, without those that only fill it. */
static int64_t count_failed(const pfd_row_batch *batch)
{
    int64_t failed = 0;
    for (int64_t i = 0; i < batch->num_skipped_rows; i++) failed += !batch->skipped_rows[i].filler;
    return failed;
}

/* With `lock` held. */
static void deliver(pfd_loader *l, pfd_slot *slot, pfd_batch *out)
{
    const pfd_row_batch *batch = &slot->batch;
    l->num_held++;
    l->counters.stats.batches++;
    l->counters.stats.records += batch->rows;
    if (l->traces.on)
        pfd_trace_delivery(l->traces.on, pfd_slot_traced(slot), l->counters.steps.asked_ns);
    pfd_slot_trace(l, slot, PFD_TRACE_SLOT_HELD);
    if (batch->step >= 0)
        pfd_steps_deliver(&l->counters.steps, pfd_clock_ns(), batch->step, batch->rows,
                          l->num_ready);
    *out = (pfd_batch){.memory = batch->memory,
                       .epoch = batch->epoch,
                       .step = batch->step,
                       .rows = batch->rows,
                       .first = l->plan.stream ? -1 : batch->first_positions[0],
                       .made = batch->rows + count_removed(batch),
                       .failed = count_failed(batch)};
}

/* ---- Tuning (consumer held) ------------------------------------------------------------------ */

/* Opens workers for this number of threads. Returns the number of threads that have a worker. */
static int32_t open_workers(pfd_loader *l, int32_t wanted)
{
    int32_t n = l->threads.num_workers;
    while (n < wanted && pfd_worker_open(&l->plan, &l->workers[n])) n++;
    if (n < wanted) pfd_worker_close(&l->plan, &l->workers[n]);
    pthread_mutex_lock(&l->lock);
    if (n > l->threads.num_workers) l->threads.num_workers = n;
    pfd_traces_add_threads(&l->traces, &l->threads);
    pthread_mutex_unlock(&l->lock);
    return n < wanted ? n : wanted;
}

void pfd_ring_adjust(pfd_loader *l, int32_t num_threads, int32_t prefetch)
{
    int32_t wanted = num_threads;
    if (num_threads != l->num_threads)
        num_threads = pfd_thread_pool_set_threads(l->threads.pool, open_workers(l, num_threads));
    pfd_thread_usage usage = pfd_tuning_usage(&l->threads, num_threads);
    pthread_mutex_lock(&l->lock);
    if (num_threads < wanted) pfd_autotune_limit(&l->tuning->tuner, num_threads);
    l->num_threads = num_threads;
    l->prefetch = prefetch;
    pfd_tuning_begin(l->tuning, &l->counters, &l->threads, &usage);
    pthread_mutex_unlock(&l->lock);
}

/* Ends a period, if it is over, and applies the numbers of threads and batches that were found. */
static void tune(pfd_loader *l)
{
    const pfd_autotune *tuner = &l->tuning->tuner;
    pfd_thread_usage usage = pfd_tuning_usage(&l->threads, l->num_threads);
    pthread_mutex_lock(&l->lock);
    int32_t changed =
        pfd_tuning_end(l->tuning, &l->counters, &l->threads, l->num_threads, &usage);
    pthread_mutex_unlock(&l->lock);
    if (changed) pfd_ring_adjust(l, tuner->num_threads, tuner->prefetch);
}

/* ---- The next batch, and a new beginning (consumer held) ------------------------------------- */

/* With `lock` held. */
static void count_checks(pfd_loader *l)
{
    if (!l->check_ns) return;
    pfd_steps_spend(&l->counters.steps, PFD_TIME_CHECK, l->check_ns);
    l->check_ns = 0;
}

/* The end of an epoch whose batches are known.  Each epoch ends after the check of all files that
 * started with it, so a change during the epoch is reported in the epoch. */
static pfd_status end_counted_epoch(pfd_loader *l, int64_t deadline_ns, pfd_error *err)
{
    pthread_mutex_lock(&l->lock);
    ask(l, 1);
    int32_t is_checked = finish_check(l, deadline_ns);
    if (!is_checked) pfd_steps_return(&l->counters.steps, pfd_clock_ns());
    pthread_mutex_unlock(&l->lock);
    if (!is_checked) return PFD_PENDING;
    pfd_status status = end_epoch(l, err);
    pthread_mutex_lock(&l->lock);
    count_checks(l);
    pfd_steps_forget(&l->counters.steps, pfd_clock_ns(), status == PFD_END);
    pthread_mutex_unlock(&l->lock);
    return status;
}

pfd_status pfd_ring_next(pfd_loader *l, int64_t deadline_ns, pfd_batch *out, pfd_error *err)
{
    for (;;) {
        if (l->restart) PFD_TRY(pfd_ring_restart(l, deadline_ns, err));
        if (!l->plan.stream && pfd_loader_own_step(l, l->step) >= l->plan.num_batches)
            return end_counted_epoch(l, deadline_ns, err);
        pfd_slot *slot = NULL;
        pthread_mutex_lock(&l->lock);
        pfd_status status = take_ready(l, deadline_ns, &slot, err);
        if (status == PFD_PENDING) pfd_steps_return(&l->counters.steps, pfd_clock_ns());
        else if (status != PFD_OK) pfd_steps_forget(&l->counters.steps, pfd_clock_ns(), 0);
        pthread_mutex_unlock(&l->lock);
        if (status != PFD_OK) return status;
        status = judge(l, slot, err);
        /* If a batch of a stream failed and is skipped, only its report is left. */
        int32_t given = status == PFD_OK && (slot->batch.rows > 0 || slot->started ||
                                             !slot->batch.num_skipped_rows);
        pthread_mutex_lock(&l->lock);
        int32_t is_due = 0;
        count_checks(l);
        if (given) {
            deliver(l, slot, out);
            is_due = pfd_tuning_is_due(l->tuning, &l->counters);
        } else {
            if (status != PFD_OK)
                pfd_steps_forget(&l->counters.steps, pfd_clock_ns(), status == PFD_END);
            pfd_slot_pool_put(l, slot);
        }
        pthread_mutex_unlock(&l->lock);
        if (is_due) tune(l);
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

pfd_status pfd_ring_restart(pfd_loader *l, int64_t deadline_ns, pfd_error *err)
{
    l->restart = 1;
    atomic_store(&l->bounds.cancelled, 1);
    pthread_mutex_lock(&l->lock);
    pfd_status status = drain(l, deadline_ns);
    if (status == PFD_OK) {
        atomic_store(&l->bounds.cancelled, 0);
        if (pfd_loader_is_closing(l)) /* close() may have set it just before */
            atomic_store(&l->bounds.cancelled, 1);
        for (int32_t r = 0; status == PFD_OK && r < l->plan.num_readers; r++) {
            pfd_data_reader_jump(&l->plan.readers[r]);
            status = pfd_data_reader_apply_seed(&l->plan.readers[r], err);
        }
        l->next_epoch = l->epoch;
        l->next_step = l->step;
        l->seek_streams = 1;
        l->restart = status != PFD_OK;
        pfd_steps_restart(&l->counters.steps);
        pfd_tuning_restart(l->tuning);
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
                        "rows at positions were asked for, but a reader can only be read in "
                        "sequence");
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
    pfd_status status = make_at_once(l, slot, &own);
    slot->batch.positions = NULL;
    PFD_TRY(check_files(l, slot, status, err));
    if (status != PFD_OK) {
        pfd_error_copy(err, &own);
        return status;
    }
    (void)note_skipped_rows(l, slot);
    return PFD_OK;
}

pfd_status pfd_ring_read(pfd_loader *l, int64_t epoch, const int64_t *positions, int64_t n,
                         pfd_batch *out, pfd_error *err)
{
    PFD_TRY(check_read(l, positions, n, err));
    pthread_mutex_lock(&l->lock);
    pfd_slot *slot = pfd_slot_pool_take_at_once(l);
    pfd_status status = slot ? PFD_OK : no_slot(l, err);
    if (slot) {
        slot->batch.epoch = epoch;
        slot->batch.step = -1;
        slot->batch.rows = n;
        slot->batch.positions = positions;
        pfd_slot_trace(l, slot, PFD_TRACE_SLOT_FILLS);
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

/* With PFD_AUTO, or threads that change, there may be more batches in flight than `prefetch`. */
static int64_t choose_most_prefetch(const pfd_loader *l)
{
    int64_t most = l->prefetch;
    if (l->tunes_threads && l->chooses_prefetch) {
        int64_t usual = pfd_plan_usual_prefetch(&l->plan, l->threads.most_threads);
        if (usual > most) most = usual;
    }
    return l->tunes_prefetch ? PFD_MOST_FACTOR * most : most;
}

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
    l->threads.most_threads = l->num_threads;
    if (l->tunes_threads)
        l->threads.most_threads =
            pfd_plan_most_threads(&l->plan, l->num_threads, l->memory_budget);
    int64_t most_prefetch = choose_most_prefetch(l);
    l->most_prefetch = (int32_t)(most_prefetch < most ? most_prefetch : most);
    return PFD_OK;
}

/* Worker i of those that are open: the last one is the caller's. */
static pfd_worker *worker_at(const pfd_loader *l, int32_t i)
{
    return &l->workers[i < l->threads.num_workers ? i : l->threads.most_threads];
}

/* 0: out of memory. */
static int32_t open_first_workers(pfd_loader *l)
{
    size_t most = (size_t)l->threads.most_threads + 1;
    l->workers = calloc(most, sizeof *l->workers);
    l->threads.works = calloc(most, sizeof *l->threads.works);
    if (!l->workers || !l->threads.works) return 0;
    for (size_t i = 0; i < most; i++) l->threads.works[i] = &l->workers[i].work;
    l->threads.num_workers = l->num_threads;
    for (int32_t i = 0; i <= l->threads.num_workers; i++)
        if (!pfd_worker_open(&l->plan, worker_at(l, i))) return 0;
    return 1;
}

static pfd_status allocate(pfd_loader *l, pfd_error *err)
{
    while (l->ring_mask + 1 < l->most_prefetch) l->ring_mask = 2 * l->ring_mask + 1;
    l->ring = calloc((size_t)l->ring_mask + 1, sizeof *l->ring);
    l->skipped = calloc(PFD_KEPT_SKIPPED, sizeof *l->skipped);
    l->looked_at = calloc((size_t)l->plan.num_file_words + 1, sizeof *l->looked_at);
    int32_t whole = l->ring && l->skipped && l->looked_at && open_first_workers(l);
    for (int32_t i = 0; whole && i < l->prefetch + 2 && (i == 0 || pfd_slot_pool_has_budget(l));
         i++)
        whole = pfd_slot_pool_grow(l);
    if (whole) return PFD_OK;
    return pfd_fail(err, PFD_OUT_OF_MEMORY,
                    "no memory for %d batches of %" PRId64 " bytes; lower batch_size or prefetch",
                    l->prefetch + 2, l->plan.slot_bytes);
}

static pfd_status open_tuning(pfd_loader *l, pfd_error *err)
{
    if (!l->tunes_threads && !l->tunes_prefetch) return PFD_OK;
    pfd_tune_bounds bounds = {.tunes_threads = l->tunes_threads,
                              .tunes_prefetch = l->tunes_prefetch,
                              .num_processors = pfd_cpu_count(),
                              .usual_threads = l->num_threads,
                              .most_threads = l->threads.most_threads,
                              .prefetch = l->chooses_prefetch ? 0 : l->prefetch,
                              .most_prefetch = l->most_prefetch,
                              .usual_prefetch = pfd_plan_usual_prefetch,
                              .plan = &l->plan};
    return pfd_tuning_open(&bounds, &l->tuning, err);
}

/* Whether batches have about as many files as records: then a check of several batches together has
 * no fewer files to look at. */
static int32_t has_small_files(const pfd_loader *l)
{
    enum { FEW_RECORDS = 4 };
    int64_t records = 0, files = l->plan.num_file_words * 64;
    for (int32_t r = 0; r < l->plan.num_readers; r++)
        if (l->plan.readers[r].num_records > records) records = l->plan.readers[r].num_records;
    return files > 0 && records <= FEW_RECORDS * files;
}

pfd_status pfd_ring_open(pfd_loader *l, pfd_error *err)
{
    l->most_values = -1;
    l->looks_early = has_small_files(l);
    PFD_TRY(fit_into_budget(l, err));
    PFD_TRY(allocate(l, err));
    PFD_TRY(open_tuning(l, err));
    l->seek_streams = 1;
    return pfd_thread_pool_create(l->num_threads, l->threads.most_threads, &l->bounds,
                                  &l->threads.pool, err);
}

void pfd_ring_ask(pfd_loader *l)
{
    pthread_mutex_lock(&l->lock);
    const pfd_threads *threads = pfd_loader_threads(l);
    int32_t num_workers = l->threads.num_workers;
    pthread_mutex_unlock(&l->lock);
    if (threads) pfd_counters_ask(&l->counters, threads->pool, num_workers);
}

void pfd_ring_count(pfd_loader *l)
{
    pfd_stats *stats = &l->counters.stats;
    const pfd_threads *threads = pfd_loader_threads(l);
    pfd_counters_update(&l->counters, &l->caller, threads);
    stats->slots = l->num_slots;
    stats->retries = atomic_load_explicit(&l->retries, memory_order_relaxed);
    stats->slots_held = l->num_held;
    stats->slot_bytes = l->num_slots * l->plan.slot_bytes + l->ragged_bytes;
    if (!threads) return;
    stats->slots_ready = (int32_t)l->num_ready;
    stats->read_bytes = 0;
    for (int32_t r = 0; r < l->plan.num_readers; r++)
        stats->read_bytes += pfd_data_reader_bytes_read(&l->plan.readers[r]);
}

void pfd_ring_close(pfd_loader *l)
{
    if (l->closed) return;
    atomic_store(&l->bounds.cancelled, 1);
    pthread_mutex_lock(&l->asking);
    pfd_ring_ask(l);
    pthread_mutex_lock(&l->lock);
    pfd_ring_count(l);
    pfd_counters_keep(&l->counters, &l->plan, pfd_loader_threads(l));
    pfd_traces_stop(&l->traces, &l->threads);
    l->closed = 1; /* after this no other thread uses the pool and the workers */
    pthread_mutex_unlock(&l->lock);
    pthread_mutex_unlock(&l->asking);
    pfd_thread_pool_free(l->threads.pool);
    l->threads.pool = NULL;
    pthread_mutex_lock(&l->lock);
    while (pfd_ring_size(l) > 0) {
        pfd_slot *slot = pfd_ring_at(l, 0);
        pfd_ring_remove_first(l);
        pfd_slot_pool_put(l, slot);
    }
    pfd_slot_pool_close(l);
    pthread_mutex_unlock(&l->lock);
    for (int32_t i = 0; l->workers && i <= l->threads.num_workers; i++)
        pfd_worker_close(&l->plan, worker_at(l, i));
    for (int32_t r = 0; l->plan.readers && r < l->plan.num_readers; r++)
        pfd_data_reader_close_files(&l->plan.readers[r]);
    free(l->threads.works);
    free(l->workers);
    free(l->ring);
    free(l->looked_at);
    l->threads.works = NULL;
    l->workers = NULL;
    l->ring = NULL;
    l->looked_at = NULL;
}
