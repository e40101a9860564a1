/* Reading the records of one batch after the other, where a reader is a stream. */
#include "core/error.h"
#include "dataset/dataset.h"
#include "loader/pipeline.h"

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
                                         l->fill_slot->scratch, records, n, err);
    if (status == PFD_END && err->status == PFD_OK) return PFD_END;
    status = pfd_check_returned(status, "next", err);
    status = pfd_scratch_explain(l->fill_slot->scratch, status, err);
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
        pfd_error_init(&other);
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

int32_t pfd_loop_can_pass(const pfd_loop *loop)
{
    return loop->error ? pfd_error_can_pass(loop->status, loop->error)
                       : loop->status == PFD_CORRUPT_DATA;
}

/* A failure with a record is that record's group(): the chain counts it as a batch, which the
 * policy may leave out. After any other failure nobody knows where the stream stands. */
static void note_failed_filling(pfd_loader *l, pfd_slot *slot, int32_t passed)
{
    pfd_error *error = l->fill_loop.error;
    int32_t counted = passed && error && error->ordinal >= 0;
    l->seek_streams = !counted;
    if (passed) l->begun_step++;
    slot->rows = 0;
    pfd_bad_row bad = {.error = error};
    if (counted && l->plan.readers[0].attrs->on_error != PFD_ON_ERROR_RAISE &&
        pfd_slot_add_bad_row(slot, &bad))
        return;
    slot->loop.status = l->fill_loop.status;
    l->fill_loop.error = slot->loop.error; /* swapped: both are freed by their owners */
    slot->loop.error = error;
}

static void batch_filled(void *ctx)
{
    pfd_loader *l = ctx;
    pfd_slot *slot = l->fill_slot;
    pthread_mutex_lock(&l->lock);
    l->filling = 0;
    int32_t passed = pfd_loop_can_pass(&l->fill_loop);
    pfd_slot_pool_count_scratch(l, slot);
    if (l->fill_loop.status != PFD_OK) {
        note_failed_filling(l, slot, passed);
        pfd_pipeline_mark_ready(l, slot);
    } else if (slot->end) {
        l->begun_epoch++;
        l->begun_step = 0;
        l->seek_streams = 1;
        pfd_pipeline_mark_ready(l, slot);
    } else {
        l->begun_step++;
        pfd_pipeline_begin_rows(l, slot);
    }
    if (l->fill_loop.status == PFD_OK || passed) pfd_begin_filling(l);
    pthread_mutex_unlock(&l->lock);
}

void pfd_begin_filling(pfd_loader *l)
{
    if (l->filling || l->closed || !(l->fill_slot = pfd_pipeline_add_slot(l))) return;
    l->filling = 1;
    l->fill_loop.n = l->fill_loop.chunk = 1;
    l->fill_loop.fn = fill_batch;
    l->fill_loop.done = batch_filled;
    l->fill_loop.ctx = l;
    pfd_multi_thread_loop(l->pool, &l->fill_loop);
}
