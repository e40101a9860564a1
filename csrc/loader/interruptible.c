/* The innermost decorator of a stream: lets close and seek end a long shuffle or batch early. */
#include "loader/interruptible.h"
#include "core/error.h"
#include "dataset/dataset.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct interruptible {
    pfd_dataset base;
    const _Atomic int32_t *interrupt;
} interruptible;

static pfd_status look(const interruptible *self, pfd_error *err)
{
    if (atomic_load_explicit(self->interrupt, memory_order_relaxed))
        return pfd_fail(err, PFD_CANCELLED, "reading was interrupted");
    return PFD_OK;
}

static pfd_status interruptible_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch,
                                     pfd_record *out, int64_t *n, pfd_error *err)
{
    PFD_TRY(look((interruptible *)ds, err));
    return pfd_dataset_next(ds->inner, max, scratch, out, n, err);
}

static pfd_status interruptible_seek(pfd_dataset *ds, int64_t epoch, int64_t position,
                                     pfd_error *err)
{
    PFD_TRY(look((interruptible *)ds, err));
    return pfd_dataset_seek(ds->inner, epoch, position, err);
}

static void interruptible_close(pfd_dataset *ds)
{
    pfd_dataset_close(ds->inner);
    free(ds);
}

pfd_status pfd_interruptible_wrap(pfd_dataset **ds, const _Atomic int32_t *interrupt,
                                  pfd_error *err)
{
    static const pfd_dataset_methods methods = {
        .struct_size = sizeof methods,
        .name = "interruptible",
        .close = interruptible_close,
        .next = interruptible_next,
        .seek = interruptible_seek,
    };
    interruptible *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, sizeof *self, "a dataset");
    *self = (interruptible){.base = {.methods = &methods, .inner = *ds}, .interrupt = interrupt};
    *ds = &self->base;
    return PFD_OK;
}
