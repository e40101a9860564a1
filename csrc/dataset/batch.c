/* Logical batches of batch_size records. */
#include "core/error.h"
#include "dataset/decorator.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct batch {
    pfd_dataset base; /* stream: base.epoch is the one being read */
    pfd_batch_rule rule;
    int32_t ended; /* stream: the epoch is over */
} batch;

static void batch_close(pfd_dataset *ds)
{
    pfd_dataset_close(ds->inner);
    free(ds);
}

/* ---- Random access --------------------------------------------------------------------------- */

int64_t pfd_batch_rows(const pfd_batch_rule *rule, int64_t records)
{
    int64_t rest = records % rule->batch_size;
    if (rest == 0) return records;
    switch (rule->last_batch) {
    case PFD_LAST_BATCH_SHORT: return records;
    case PFD_LAST_BATCH_DROP: return records - rest;
    case PFD_LAST_BATCH_EVEN: return records - rest % rule->world_size;
    default: return records - rest + rule->batch_size;
    }
}

static int64_t batch_size_of_epoch(const pfd_dataset *ds)
{
    return pfd_batch_rows(&((const batch *)ds)->rule, ds->inner->methods->size(ds->inner));
}

static int64_t batch_num_batches(const pfd_dataset *ds)
{
    const batch *self = (const batch *)ds;
    int64_t size = batch_size_of_epoch(ds);
    return size / self->rule.batch_size + (size % self->rule.batch_size != 0);
}

static void batch_range(const pfd_dataset *ds, int64_t epoch, int64_t step, int64_t *begin,
                        int64_t *end)
{
    (void)epoch;
    const batch *self = (const batch *)ds;
    int64_t size = batch_size_of_epoch(ds);
    *begin = step * self->rule.batch_size;
    *end = size - *begin < self->rule.batch_size ? size : *begin + self->rule.batch_size;
}

/* The source position of a filler record. */
static void find_filler(const batch *self, int64_t records, int64_t *epoch, int64_t *position)
{
    if (self->rule.last_batch == PFD_LAST_BATCH_WRAP) {
        int64_t beyond = *position - records;
        *epoch += 1 + beyond / records;
        *position = beyond % records;
    } else {
        *position = records - 1;
    }
}

/* Returns how many positions, from the first on, are in the same epoch of the inner dataset. */
static int64_t map_piece(const batch *self, int64_t records, int64_t *epoch,
                         const int64_t *positions, int64_t n, int64_t *mapped)
{
    int64_t first_epoch = *epoch;
    int64_t i = 0;
    for (; i < n && i < PFD_POSITIONS_PER_PIECE; i++) {
        int64_t mapped_epoch = *epoch;
        mapped[i] = positions[i];
        if (positions[i] >= records) find_filler(self, records, &mapped_epoch, &mapped[i]);
        if (i == 0) first_epoch = mapped_epoch;
        if (mapped_epoch != first_epoch) break;
    }
    *epoch = first_epoch;
    return i;
}

static pfd_status batch_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                           int64_t n, pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    const batch *self = (const batch *)ds;
    const pfd_dataset *inner = ds->inner;
    int64_t records = inner->methods->size(inner);
    int64_t plain = 0;
    while (plain < n && positions[plain] < records) plain++;
    if (plain > 0) PFD_TRY(inner->methods->at(inner, epoch, positions, plain, scratch, out, err));

    int64_t mapped[PFD_POSITIONS_PER_PIECE];
    for (int64_t done = plain; done < n;) {
        int64_t piece_epoch = epoch;
        int64_t piece = map_piece(self, records, &piece_epoch, positions + done, n - done, mapped);
        pfd_status status =
            inner->methods->at(inner, piece_epoch, mapped, piece, scratch, out + done, err);
        if (status != PFD_OK) {
            if (err->row >= 0) err->row += done;
            return status;
        }
        for (int64_t i = done; i < done + piece; i++) out[i].filler = positions[i] >= records;
        done += piece;
    }
    return PFD_OK;
}

/* ---- Stream ---------------------------------------------------------------------------------- */

/* Reads up to `wanted` records; fewer only at the end of the inner epoch or on failure. */
static pfd_status gather(pfd_dataset *inner, int64_t wanted, pfd_scratch *scratch, pfd_record *out,
                         int64_t *got, pfd_error *err)
{
    while (*got < wanted) {
        int64_t n = 0;
        pfd_status status =
            pfd_dataset_next(inner, wanted - *got, scratch, out + *got, &n, err);
        if (status < 0) err->row = -1; /* no record was delivered */
        if (status != PFD_OK) return status;
        if (n < 1 || n > wanted - *got) {
            return pfd_dataset_fail_count(n, wanted - *got, err);
        }
        *got += n;
    }
    return PFD_OK;
}

/* From the following epochs: several of them when one is smaller than a batch. */
static pfd_status fill_by_wrapping(batch *self, int64_t got, pfd_scratch *scratch, pfd_record *out,
                                   pfd_error *err)
{
    int64_t first = got;
    for (int64_t epoch = self->base.epoch + 1; got < self->rule.batch_size; epoch++) {
        int64_t before = got;
        PFD_TRY(pfd_dataset_seek(self->base.inner, epoch, 0, err));
        pfd_status status =
            gather(self->base.inner, self->rule.batch_size, scratch, out, &got, err);
        if (status < 0) return status;
        if (got == before) {
            return pfd_fail(err, PFD_IO,
                            "next() gave no records in epoch %" PRId64
                            ", after giving some in epoch %" PRId64
                            "; a dataset has the same records in every epoch",
                            epoch, self->base.epoch);
        }
    }
    for (int64_t i = first; i < got; i++) out[i].filler = 1;
    return PFD_OK;
}

/* Applies the last_batch rule to the epoch's last `got` records; PFD_END: no batch. */
static pfd_status finish(batch *self, int64_t got, pfd_scratch *scratch, pfd_record *out,
                         int64_t *n, pfd_error *err)
{
    self->ended = 1;
    *n = pfd_batch_rows(&self->rule, got);
    if (self->rule.left_out) atomic_store(self->rule.left_out, *n < got ? got - *n : 0);
    if (*n == 0) return PFD_END;
    if (self->rule.last_batch == PFD_LAST_BATCH_WRAP) {
        return fill_by_wrapping(self, got, scratch, out, err);
    }
    for (int64_t i = got; i < *n; i++) {
        out[i] = out[got - 1];
        out[i].filler = 1;
    }
    return PFD_OK;
}

static pfd_status batch_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch, pfd_record *out,
                             int64_t *n, pfd_error *err)
{
    batch *self = (batch *)ds;
    *n = 0;
    if (self->ended) return PFD_END;
    PFD_TRY(pfd_dataset_check_room(ds, max, self->rule.batch_size, err));
    int64_t got = 0;
    pfd_status status = gather(ds->inner, self->rule.batch_size, scratch, out, &got, err);
    if (status == PFD_END) status = finish(self, got, scratch, out, n, err);
    else if (status == PFD_OK) *n = got;
    if (status != PFD_OK) *n = 0;
    return status;
}

static pfd_status batch_seek(pfd_dataset *ds, int64_t epoch, int64_t position, pfd_error *err)
{
    batch *self = (batch *)ds;
    self->ended = 0;
    ds->epoch = epoch;
    int64_t most = INT64_MAX / self->rule.batch_size;
    return pfd_dataset_seek(ds->inner, epoch,
                            (position < most ? position : most) * self->rule.batch_size, err);
}

/* ---- Both ------------------------------------------------------------------------------------ */

static const pfd_dataset_methods batch_methods = {
    .name = "Batch",
    .close = batch_close,
    .size = batch_size_of_epoch,
    .at = batch_at,
    .num_batches = batch_num_batches,
    .batch = batch_range,
};

static const pfd_dataset_methods batch_stream_methods = {
    .name = "Batch",
    .close = batch_close,
    .next = batch_next,
    .seek = batch_seek,
};

pfd_status pfd_batch_wrap(pfd_dataset **ds, const pfd_batch_rule *rule, pfd_error *err)
{
    batch *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "Batch");
    self->base.methods =
        pfd_dataset_is_random_access(*ds) ? &batch_methods : &batch_stream_methods;
    self->base.inner = *ds;
    self->rule = *rule;
    *ds = &self->base;
    return PFD_OK;
}
