/* Logical batches, which have a number of records or are formed by a view, and the part of each
 * batch that a rank has. */
#include "core/error.h"
#include "dataset/decorator.h"
#include "dataset/view.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct batch {
    pfd_dataset base; /* stream: base.epoch is the one being read */
    pfd_batch_rule rule;
    int32_t ended; /* stream: the epoch is over */
} batch;

/* ---- Batches of batch_size records, over random access --------------------------------------- */

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
    int64_t size = batch_size_of_epoch(ds), batch_size = ((const batch *)ds)->rule.batch_size;
    return size / batch_size + (size % batch_size != 0);
}

static void batch_range(const pfd_dataset *ds, int64_t epoch, int64_t step, int64_t *begin,
                        int64_t *end)
{
    (void)epoch;
    int64_t size = batch_size_of_epoch(ds), batch_size = ((const batch *)ds)->rule.batch_size;
    *begin = step * batch_size;
    *end = size - *begin < batch_size ? size : *begin + batch_size;
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

/* Maps the positions, from the first on, that are in one epoch of the inner dataset; returns their
 * number. */
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
        PFD_TRY(pfd_dataset_at_piece(inner, piece_epoch, mapped, piece, done, scratch, out, err));
        for (int64_t i = done; i < done + piece; i++) out[i].filler = positions[i] >= records;
        done += piece;
    }
    return PFD_OK;
}

/* ---- The same over a stream ------------------------------------------------------------------ */

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

/* Takes records of the following epochs: of several ones if an epoch is smaller than a batch. */
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
    else *n = got;
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

static const pfd_dataset_methods batch_methods = {
    .name = "Batch",
    .close = pfd_decorator_close,
    .size = batch_size_of_epoch,
    .at = batch_at,
    .num_batches = batch_num_batches,
    .batch = batch_range,
};

static const pfd_dataset_methods batch_stream_methods = {
    .name = "Batch",
    .close = pfd_decorator_close,
    .next = batch_next,
    .seek = batch_seek,
};

pfd_status pfd_batch_wrap(pfd_dataset **ds, const pfd_batch_rule *rule, pfd_error *err)
{
    const pfd_dataset_methods *methods =
        pfd_dataset_is_random_access(*ds) ? &batch_methods : &batch_stream_methods;
    batch *self = pfd_decorator_create(sizeof *self, methods, *ds, err);
    if (!self) return PFD_OUT_OF_MEMORY;
    self->rule = *rule;
    *ds = &self->base;
    return PFD_OK;
}

/* ---- Batches that a view forms, whose sizes differ ------------------------------------------- */

typedef struct view_batch {
    pfd_dataset base;
    const pfd_view *view;
} view_batch;

static const pfd_view *view_of(const pfd_dataset *ds)
{
    return ((const view_batch *)ds)->view;
}

static int64_t view_batch_size(const pfd_dataset *ds)
{
    return view_of(ds)->size;
}

static int64_t view_batch_num_batches(const pfd_dataset *ds)
{
    return view_of(ds)->num_batches;
}

static int64_t view_batch_most_rows(const pfd_dataset *ds)
{
    return view_of(ds)->most_rows;
}

static void view_batch_range(const pfd_dataset *ds, int64_t epoch, int64_t step, int64_t *begin,
                             int64_t *end)
{
    view_of(ds)->methods->batch(view_of(ds), epoch, step, begin, end);
}

static pfd_status view_batch_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                                int64_t n, pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    int64_t epochs[PFD_POSITIONS_PER_PIECE], mapped[PFD_POSITIONS_PER_PIECE];
    uint64_t draws[PFD_POSITIONS_PER_PIECE];
    pfd_places places = {.epochs = epochs, .positions = mapped, .draws = draws};
    for (int64_t done = 0; done < n; done += places.n) {
        places.n = n - done < PFD_POSITIONS_PER_PIECE ? n - done : PFD_POSITIONS_PER_PIECE;
        for (int64_t i = 0; i < places.n; i++) {
            epochs[i] = epoch;
            mapped[i] = positions[done + i];
            draws[i] = 0;
        }
        view_of(ds)->methods->map(view_of(ds), &places);
        PFD_TRY(pfd_dataset_at_piece(ds->inner, epochs[0], mapped, places.n, done, scratch, out,
                                     err));
    }
    return PFD_OK;
}

static const pfd_dataset_methods view_batch_methods = {
    .name = "ViewBatch",
    .close = pfd_decorator_close,
    .size = view_batch_size,
    .at = view_batch_at,
    .num_batches = view_batch_num_batches,
    .batch = view_batch_range,
    .most_rows = view_batch_most_rows,
};

pfd_status pfd_view_batch_wrap(pfd_dataset **ds, const pfd_view *view, pfd_error *err)
{
    view_batch *self = pfd_decorator_create(sizeof *self, &view_batch_methods, *ds, err);
    if (!self) return PFD_OUT_OF_MEMORY;
    self->view = view;
    *ds = &self->base;
    return PFD_OK;
}

/* ---- A rank's part of each logical batch: SBP Split(0) --------------------------------------- */

typedef struct distributed_training {
    pfd_dataset base;
    int64_t batch_size, rank, world_size;
    pfd_record *logical; /* stream: room for a logical batch; NULL over random access */
} distributed_training;

static void distributed_training_close(pfd_dataset *ds)
{
    pfd_dataset_close(ds->inner);
    free(((distributed_training *)ds)->logical);
    free(ds);
}

void pfd_rank_rows(int64_t rows, int64_t rank, int64_t world_size, int64_t *begin, int64_t *end)
{
    int64_t least = rows / world_size;
    int64_t longer = rows % world_size; /* this many ranks, the first ones, have one row more */
    *begin = rank * least + (rank < longer ? rank : longer);
    *end = *begin + least + (rank < longer);
}

static pfd_status distributed_training_at(const pfd_dataset *ds, int64_t epoch,
                                          const int64_t *positions, int64_t n,
                                          pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    return ds->inner->methods->at(ds->inner, epoch, positions, n, scratch, out, err);
}

static int64_t distributed_training_num_batches(const pfd_dataset *ds)
{
    return ds->inner->methods->num_batches(ds->inner);
}

static void distributed_training_range(const pfd_dataset *ds, int64_t epoch, int64_t step,
                                       int64_t *begin, int64_t *end)
{
    const distributed_training *self = (const distributed_training *)ds;
    int64_t first, last;
    ds->inner->methods->batch(ds->inner, epoch, step, &first, &last);
    pfd_rank_rows(last - first, self->rank, self->world_size, begin, end);
    *begin += first;
    *end += first;
}

/* Every rank reads the logical batch, so that all agree on it without communication. */
static pfd_status distributed_training_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch,
                                            pfd_record *out, int64_t *n, pfd_error *err)
{
    distributed_training *self = (distributed_training *)ds;
    *n = 0;
    int64_t begin, end;
    pfd_rank_rows(self->batch_size, self->rank, self->world_size, &begin, &end);
    PFD_TRY(pfd_dataset_check_room(ds, max, end - begin, err));
    int64_t rows = 0;
    PFD_TRY(pfd_dataset_next(ds->inner, self->batch_size, scratch, self->logical, &rows, err));
    pfd_rank_rows(rows, self->rank, self->world_size, &begin, &end);
    *n = end - begin;
    if (*n > 0) memcpy(out, self->logical + begin, (size_t)*n * sizeof *out);
    return PFD_OK;
}

static pfd_status distributed_training_seek(pfd_dataset *ds, int64_t epoch, int64_t position,
                                            pfd_error *err)
{
    return pfd_dataset_seek(ds->inner, epoch, position, err);
}

static const pfd_dataset_methods distributed_training_methods = {
    .name = "DistributedTraining",
    .close = distributed_training_close,
    .size = pfd_decorator_size,
    .at = distributed_training_at,
    .num_batches = distributed_training_num_batches,
    .batch = distributed_training_range,
};

static const pfd_dataset_methods distributed_training_stream_methods = {
    .name = "DistributedTraining",
    .close = distributed_training_close,
    .next = distributed_training_next,
    .seek = distributed_training_seek,
};

pfd_status pfd_distributed_training_wrap(pfd_dataset **ds, int64_t batch_size, int64_t rank,
                                         int64_t world_size, pfd_error *err)
{
    int32_t random_access = pfd_dataset_is_random_access(*ds);
    const pfd_dataset_methods *methods =
        random_access ? &distributed_training_methods : &distributed_training_stream_methods;
    pfd_record *logical = random_access ? NULL : calloc((size_t)batch_size, sizeof *logical);
    if (!random_access && !logical)
        return pfd_fail_memory(err, batch_size * (int64_t)sizeof *logical, "a logical batch");
    distributed_training *self = pfd_decorator_create(sizeof *self, methods, *ds, err);
    if (!self) {
        free(logical);
        return PFD_OUT_OF_MEMORY;
    }
    self->batch_size = batch_size;
    self->rank = rank;
    self->world_size = world_size;
    self->logical = logical;
    *ds = &self->base;
    return PFD_OK;
}
