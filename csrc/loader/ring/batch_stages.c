/* Runs the stages of one batch: row loops, whole-batch ops, joining of ragged rows. Each loop
 * starts the next one when it ends. */
#include "loader/ring/batch_stages.h"

#include "core/error.h"
#include "loader/rows/ragged_rows.h"
#include "loader/ring/ring.h"
#include "loader/ring/slot_pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Batches with fewer bytes are joined without a loop; the pieces of the loop have about this
 * many. */
enum { JOIN_BYTES = 256 * 1024 };

static void start_stage(pfd_loader *l, pfd_slot *slot, int32_t stage);

/* The loop of a stage. Every slot has loop 0; the others exist only if the plan needs them. */
static pfd_loop *loop_of(pfd_slot *slot, int32_t stage)
{
    return stage == 0 ? &slot->loop : &slot->more_loops[stage - 1];
}

pfd_loop *pfd_batch_stages_loop(pfd_slot *slot)
{
    return loop_of(slot, slot->stage);
}

/* ---- Making rows ----------------------------------------------------------------------------- */

static int32_t note_skipped_row(pfd_slot *slot, const pfd_skipped_row *skipped)
{
    pthread_mutex_lock(&slot->loader->lock);
    int32_t noted = pfd_slot_add_skipped_row(slot, skipped);
    pthread_mutex_unlock(&slot->loader->lock);
    return noted;
}

static pfd_status take_arenas(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    pthread_mutex_lock(&l->lock);
    int32_t taken = slot->arenas || pfd_slot_pool_take_arenas(l, slot);
    pthread_mutex_unlock(&l->lock);
    return taken ? PFD_OK : pfd_fail_memory(err, sizeof *slot->arenas, "the rows of a batch");
}

static pfd_status make_rows(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    pfd_slot *slot = ctx;
    pfd_loader *l = slot->loader;
    if (l->plan.keeps_bytes) PFD_TRY(take_arenas(l, slot, err));
    return pfd_kernel_chain_run(&l->plan, &l->workers[worker], slot, begin, end, note_skipped_row,
                                err);
}

static pfd_status make_batch(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    (void)begin, (void)end;
    pfd_slot *slot = ctx;
    return make_rows(ctx, 0, slot->rows, worker, err);
}

/* ---- Joining ragged rows --------------------------------------------------------------------- */

static pfd_status join_rows(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    (void)err;
    pfd_slot *slot = ctx;
    pfd_loader *l = slot->loader;
    pfd_work *work = &l->workers[worker].work;
    int32_t item = pfd_work_joining(&l->plan);
    pfd_work_begin(work, l->plan.num_stages, slot->epoch, slot->step, begin, end - begin);
    pfd_work_start(work, item);
    pfd_ragged_rows_join(&l->plan, slot, begin, end);
    pfd_work_done(work, item, end - begin);
    pfd_work_end(work);
    return PFD_OK;
}

static pfd_status fail_values(const pfd_slot *slot, int64_t bytes, pfd_error *err)
{
    char step[64] = "the rows";
    if (slot->step >= 0)
        snprintf(step, sizeof step, "step %" PRId64 " of epoch %" PRId64, slot->step, slot->epoch);
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
    if (bytes < 0 || bytes > l->memory_budget)
        return fail_values(slot, bytes, err);
    if (bytes > slot->values_capacity || !slot->values) {
        int64_t capacity = (bytes + bytes / 8 + 64) / 64 * 64;
        free(slot->values);
        slot->values = aligned_alloc(64, (size_t)capacity);
        slot->values_capacity = slot->values ? capacity : 0;
    }
    pthread_mutex_lock(&l->lock);
    pfd_slot_pool_count_values(l, slot, bytes);
    pthread_mutex_unlock(&l->lock);
    return slot->values ? PFD_OK : pfd_fail_memory(err, bytes, "the values of a batch");
}

/* ---- From one loop to the next --------------------------------------------------------------- */

static void put_arenas(pfd_slot *slot)
{
    if (slot->arenas) pfd_arenas_reset(slot->arenas);
    pthread_mutex_lock(&slot->loader->lock);
    pfd_slot_pool_put_arenas(slot->loader, slot);
    pthread_mutex_unlock(&slot->loader->lock);
}

static void finish(pfd_slot *slot)
{
    pfd_loader *l = slot->loader;
    put_arenas(slot);
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
    pfd_error err;
    pfd_error_init(&err);
    int64_t bytes = pfd_ragged_rows_measure(&l->plan, slot);
    pfd_status status = make_room(slot, bytes, &err);
    if (status != PFD_OK) {
        fail_batch(slot, status, &err);
        return 0;
    }
    pfd_ragged_rows_place(&l->plan, slot);
    if (bytes < JOIN_BYTES) {
        pfd_ragged_rows_join(&l->plan, slot, 0, slot->rows);
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
    int32_t num_stages = l->plan.num_stages;
    pfd_loop *loop = pfd_batch_stages_loop(slot);
    if (loop->status != PFD_OK) {
        if (loop != &slot->loop) take_failure(slot, loop);
        finish(slot);
        return;
    }
    if (slot->stage < num_stages) pfd_slot_remove_skipped_rows(&l->plan, slot);
    if (slot->stage + 1 < num_stages && slot->rows > 0) {
        pthread_mutex_lock(&l->lock);
        start_stage(l, slot, slot->stage + 1);
        pthread_mutex_unlock(&l->lock);
        return;
    }
    if (slot->stage < num_stages) {
        pfd_slot_insert_padded_rows(&l->plan, slot);
        if (l->plan.num_ragged && start_joining(slot)) return;
    }
    finish(slot);
}

/* Called with `lock` held, so that a helping caller sees a loop only after it has started. */
static void start_stage(pfd_loader *l, pfd_slot *slot, int32_t stage)
{
    pfd_loop *loop = loop_of(slot, stage);
    slot->stage = stage;
    loop->done = stage_done;
    loop->ctx = slot;
    loop->n = slot->rows;
    if (stage == l->plan.num_stages) {
        int64_t pieces = slot->values_capacity / JOIN_BYTES + 1;
        loop->chunk = slot->rows / pieces + 1;
        loop->fn = join_rows;
    } else if (stage % 2) {
        loop->n = loop->chunk = 1;
        loop->fn = make_batch;
    } else {
        loop->chunk = l->plan.chunk_rows;
        loop->fn = make_rows;
    }
    if (stage == 0)
        pfd_multi_thread_loop(l->pool, loop);
    else
        pfd_multi_thread_loop_first(l->pool, loop);
}

void pfd_batch_stages_start(pfd_loader *l, pfd_slot *slot)
{
    slot->started = 1;
    if (slot->rows > 0) {
        start_stage(l, slot, 0);
        return;
    }
    (void)pfd_ragged_rows_measure(&l->plan, slot); /* an empty batch has row_splits too */
    pfd_ragged_rows_place(&l->plan, slot);
    pfd_ring_mark_ready(l, slot);
}

/* ---- Outside the ring ------------------------------------------------------------------------ */

/* All stages, one after the other, without joining. */
static pfd_status run_stages(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    const pfd_plan *plan = &l->plan;
    for (slot->stage = 0; slot->stage < plan->num_stages && slot->rows > 0; slot->stage++) {
        int32_t is_whole = slot->stage % 2;
        PFD_TRY(pfd_single_thread_loop(is_whole ? 1 : slot->rows, is_whole ? 1 : plan->chunk_rows,
                                       is_whole ? make_batch : make_rows, slot, l->most_threads,
                                       err));
        pfd_slot_remove_skipped_rows(plan, slot);
    }
    pfd_slot_insert_padded_rows(plan, slot);
    return PFD_OK;
}

pfd_status pfd_batch_stages_run(pfd_loader *l, pfd_slot *slot, pfd_error *err)
{
    pfd_status status = run_stages(l, slot, err);
    if (status == PFD_OK && l->plan.num_ragged) {
        status = make_room(slot, pfd_ragged_rows_measure(&l->plan, slot), err);
        if (status == PFD_OK) {
            pfd_ragged_rows_place(&l->plan, slot);
            pfd_ragged_rows_join(&l->plan, slot, 0, slot->rows);
        }
    }
    put_arenas(slot);
    return status;
}
