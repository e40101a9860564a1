/* A decorator directly over the source: it stops reading when the loader closes, and moves a stream
 * past a damaged record. */
#include "core/error.h"
#include "dataset/dataset.h"

#include <stdlib.h>

typedef struct cancellation {
    pfd_dataset base; /* stream: the next record is base.position of base.epoch */
    int32_t damaged;  /* stream: it may be the one that failed */
    const _Atomic int32_t *cancelled;
} cancellation;

static void cancellation_close(pfd_dataset *ds)
{
    pfd_dataset_close(ds->inner);
    free(ds);
}

static pfd_status check(const pfd_dataset *ds, pfd_error *err)
{
    const cancellation *self = (const cancellation *)ds;
    if (!atomic_load_explicit(self->cancelled, memory_order_relaxed)) return PFD_OK;
    return pfd_fail(err, PFD_CANCELLED, "the loader is closing");
}

static int64_t cancellation_size(const pfd_dataset *ds)
{
    return ds->inner->methods->size(ds->inner);
}

static pfd_status cancellation_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                                  int64_t n, pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    PFD_TRY(check(ds, err));
    return ds->inner->methods->at(ds->inner, epoch, positions, n, scratch, out, err);
}

static pfd_status cancellation_seek(pfd_dataset *ds, int64_t epoch, int64_t position,
                                    pfd_error *err)
{
    PFD_TRY(check(ds, err));
    ds->epoch = epoch;
    ds->position = position;
    ((cancellation *)ds)->damaged = 0;
    pfd_status status = pfd_dataset_seek(ds->inner, epoch, position, err);
    if (status == PFD_CORRUPT_DATA) pfd_error_set_reason(err, PFD_REASON_REST_UNREADABLE);
    return status;
}

/* It is unknown whether a failed source consumed the record, so a seek follows. */
static pfd_status cancellation_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch,
                                    pfd_record *out, int64_t *n, pfd_error *err)
{
    cancellation *self = (cancellation *)ds;
    *n = 0;
    PFD_TRY(check(ds, err));
    if (self->damaged) PFD_TRY(cancellation_seek(ds, ds->epoch, ds->position + 1, err));
    pfd_status status = pfd_dataset_next(ds->inner, max, scratch, out, n, err);
    if (status == PFD_OK) ds->position += *n;
    self->damaged = pfd_error_can_pass(status, err);
    return status;
}

static const pfd_dataset_methods cancellation_methods = {
    .name = "Cancellation",
    .close = cancellation_close,
    .size = cancellation_size,
    .at = cancellation_at,
};

static const pfd_dataset_methods cancellation_stream_methods = {
    .name = "Cancellation",
    .close = cancellation_close,
    .next = cancellation_next,
    .seek = cancellation_seek,
};

pfd_status pfd_cancellation_wrap(pfd_dataset **ds, const _Atomic int32_t *cancelled,
                                 pfd_error *err)
{
    cancellation *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "Cancellation");
    self->base.methods = pfd_dataset_is_random_access(*ds) ? &cancellation_methods
                                                           : &cancellation_stream_methods;
    self->base.inner = *ds;
    self->cancelled = cancelled;
    *ds = &self->base;
    return PFD_OK;
}
