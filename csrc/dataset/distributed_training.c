/* This rank's part of each logical batch: SBP Split(0). */
#include "core/error.h"
#include "dataset/decorator.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- Random access --------------------------------------------------------------------------- */

static int64_t distributed_training_size(const pfd_dataset *ds)
{
    return ds->inner->methods->size(ds->inner);
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

/* ---- Stream ---------------------------------------------------------------------------------- */

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

/* ---- Both ------------------------------------------------------------------------------------ */

static const pfd_dataset_methods distributed_training_methods = {
    .name = "DistributedTraining",
    .close = distributed_training_close,
    .size = distributed_training_size,
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
    distributed_training *self = calloc(1, sizeof *self);
    pfd_record *logical = random_access ? NULL : calloc((size_t)batch_size, sizeof *logical);
    if (!self || (!random_access && !logical)) {
        free(self);
        free(logical);
        return pfd_fail_memory(err, batch_size * (int64_t)sizeof *logical, "a logical batch");
    }
    self->base.methods =
        random_access ? &distributed_training_methods : &distributed_training_stream_methods;
    self->base.inner = *ds;
    self->batch_size = batch_size;
    self->rank = rank;
    self->world_size = world_size;
    self->logical = logical;
    *ds = &self->base;
    return PFD_OK;
}
