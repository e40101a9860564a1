/* A source of places: record i of an epoch is (epoch, i), for views to find the record of. */
#include "core/error.h"
#include "dataset/dataset.h"

#include <stdlib.h>

typedef struct place_source {
    pfd_dataset base;
    int64_t size;
} place_source;

static void place_source_close(pfd_dataset *ds)
{
    free(ds);
}

static int64_t place_source_size(const pfd_dataset *ds)
{
    return ((const place_source *)ds)->size;
}

static pfd_status place_source_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                                  int64_t n, pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    (void)ds, (void)scratch, (void)err;
    for (int64_t i = 0; i < n; i++)
        out[i] = (pfd_record){.offset = epoch, .ordinal = positions[i], .file = -1};
    return PFD_OK;
}

static const pfd_dataset_methods place_source_methods = {
    .name = "places",
    .close = place_source_close,
    .size = place_source_size,
    .at = place_source_at,
};

pfd_status pfd_place_source_open(int64_t size, pfd_dataset **out, pfd_error *err)
{
    place_source *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, sizeof *self, "the places of a view");
    self->base.methods = &place_source_methods;
    self->size = size;
    *out = &self->base;
    return PFD_OK;
}
