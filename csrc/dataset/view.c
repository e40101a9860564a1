/* What all views share: creation, closing, and keys of random orders. */
#include "dataset/view.h"

#include "core/error.h"
#include "core/random.h"

#include <stdlib.h>

/* A zero counts, too, once a view around this one has counted: otherwise the first draw of a second
 * draw would equal the second draw of a first draw. */
void pfd_view_count_draw(uint64_t *draw, uint64_t number)
{
    if (number > 0 || *draw > 0) *draw = pfd_random_bits(*draw, number) | 1;
}

uint64_t pfd_view_key(const pfd_view_args *args, int64_t own, int64_t epoch)
{
    return pfd_random_key(own >= 0 ? own : *args->seed, epoch, args->name);
}

pfd_status pfd_view_create(size_t bytes, const pfd_view_methods *methods, void *out,
                           pfd_error *err)
{
    pfd_view *view = calloc(1, bytes);
    if (!view) return pfd_fail_memory(err, (int64_t)bytes, methods->name);
    view->methods = methods;
    *(pfd_view **)out = view;
    return PFD_OK;
}

pfd_status pfd_view_opened(pfd_status status, void *view, pfd_view **out)
{
    pfd_view *self = view;
    if (status == PFD_OK) *out = self;
    else self->methods->close(self);
    return status;
}

void pfd_view_free(pfd_view *self)
{
    free(self);
}

void pfd_view_close(pfd_view *view)
{
    if (!view) return;
    pfd_view **inner = view->inner;
    int32_t num_inner = view->num_inner;
    view->methods->close(view);
    for (int32_t i = 0; i < num_inner; i++) pfd_view_close(inner[i]);
    free(inner);
}
