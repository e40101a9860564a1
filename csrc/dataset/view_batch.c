/* Logical batches that a view forms, whose sizes differ. */
#include "core/error.h"
#include "dataset/dataset.h"
#include "dataset/view.h"

#include <stdlib.h>

typedef struct view_batch {
    pfd_dataset base;
    const pfd_view *view;
} view_batch;

static const pfd_view *view_of(const pfd_dataset *ds)
{
    return ((const view_batch *)ds)->view;
}

static void view_batch_close(pfd_dataset *ds)
{
    pfd_dataset_close(ds->inner);
    free(ds);
}

static int64_t view_batch_size(const pfd_dataset *ds)
{
    return pfd_view_size(view_of(ds));
}

static int64_t view_batch_num_batches(const pfd_dataset *ds)
{
    return view_of(ds)->methods->num_batches(view_of(ds));
}

static int64_t view_batch_most_rows(const pfd_dataset *ds)
{
    return view_of(ds)->methods->most_rows(view_of(ds));
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
        pfd_status status = ds->inner->methods->at(ds->inner, epochs[0], mapped, places.n, scratch,
                                                   out + done, err);
        if (status != PFD_OK) {
            if (err->row >= 0) err->row += done;
            return status;
        }
    }
    return PFD_OK;
}

static const pfd_dataset_methods view_batch_methods = {
    .name = "ViewBatch",
    .close = view_batch_close,
    .size = view_batch_size,
    .at = view_batch_at,
    .num_batches = view_batch_num_batches,
    .batch = view_batch_range,
    .most_rows = view_batch_most_rows,
};

pfd_status pfd_view_batch_wrap(pfd_dataset **ds, const pfd_view *view, pfd_error *err)
{
    view_batch *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "batches of a view");
    self->base.methods = &view_batch_methods;
    self->base.inner = *ds;
    self->view = view;
    *ds = &self->base;
    return PFD_OK;
}
