/* Reading the records of one batch after the other, where a reader is a stream. */
#include "loader/ring/stream_producer.h"

#include "core/error.h"
#include "dataset/dataset.h"
#include "loader/ring/batch_stages.h"
#include "loader/ring/ring.h"
#include "loader/ring/slot_pool.h"

#include <inttypes.h>

static pfd_status seek_streams(pfd_loader *l, const pfd_slot *slot, pfd_error *err)
{
    if (!l->seek_streams) return PFD_OK;
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        pfd_data_reader *reader = &l->plan.readers[r];
        pfd_error_clear(err);
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
                    l->plan.readers[0].name, reader->name, l->produced->step, l->produced->epoch);
}

/* A batch of each reader: all that the producer's loop does. Also when one reader fails, the others
 * read theirs, and so stay in step. */
static pfd_status read_batches(pfd_loader *l, pfd_work *work, pfd_error *err)
{
    pfd_slot *slot = l->produced;
    pfd_status failure = PFD_OK;
    int32_t ended = 0;
    pfd_scratch_reset(slot->scratch);
    pfd_work_start(work, pfd_work_reading(&l->plan, 0));
    PFD_TRY(seek_streams(l, slot, err));
    slot->rows = INT64_MAX;
    for (int32_t r = 0; r < l->plan.num_readers; r++) {
        pfd_data_reader *reader = &l->plan.readers[r];
        pfd_error other;
        pfd_error_init(&other);
        int64_t n;
        pfd_work_start(work, pfd_work_reading(&l->plan, r));
        pfd_status status = read_batch(l, reader, slot->records[r], &n, failure ? &other : err);
        if (n) pfd_work_done(work, pfd_work_reading(&l->plan, r), n);
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

static pfd_status produce(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    (void)begin, (void)end;
    pfd_loader *l = ctx;
    pfd_slot *slot = l->produced;
    pfd_work *work = &l->workers[worker].work;
    pfd_work_begin(work, l->plan.num_stages + 1, slot->epoch, slot->step, 0,
                   l->plan.local_batch_size);
    int64_t own = pfd_loader_own_step(l, slot->step);
    pfd_status status = read_batches(l, work, err);
    while (status == PFD_OK && !slot->end && slot->step < own) { /* a step of another share */
        slot->step++;
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
    if (passed) l->next_step = slot->step + 1;
    slot->rows = 0;
    pfd_skipped_row skipped = {.error = error};
    if (counted && l->plan.readers[0].attrs->on_error != PFD_ON_ERROR_RAISE &&
        pfd_slot_add_skipped_row(slot, &skipped))
        return;
    slot->loop.status = l->producer.status;
    l->producer.error = slot->loop.error; /* swapped: both are freed by their owners */
    slot->loop.error = error;
}

static void batch_produced(void *ctx)
{
    pfd_loader *l = ctx;
    pfd_slot *slot = l->produced;
    pthread_mutex_lock(&l->lock);
    l->producing = 0;
    int32_t passed = pfd_slot_loop_can_pass(&l->producer);
    pfd_slot_pool_count_scratch(l, slot);
    if (l->producer.status != PFD_OK) {
        note_failure(l, slot, passed);
        pfd_ring_mark_ready(l, slot);
    } else if (slot->end) {
        l->next_epoch++;
        l->next_step = 0;
        l->seek_streams = 1;
        pfd_ring_mark_ready(l, slot);
    } else {
        l->next_step = slot->step + 1;
        pfd_batch_stages_start(l, slot);
    }
    if (l->producer.status == PFD_OK || passed) pfd_stream_producer_start(l);
    pthread_mutex_unlock(&l->lock);
}

void pfd_stream_producer_start(pfd_loader *l)
{
    if (l->producing || l->closed || !(l->produced = pfd_ring_add(l))) return;
    l->producing = 1;
    l->producer.n = l->producer.chunk = 1;
    l->producer.fn = produce;
    l->producer.done = batch_produced;
    l->producer.ctx = l;
    pfd_multi_thread_loop(l->pool, &l->producer);
}
