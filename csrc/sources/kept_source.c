/* Hands every call on to the inner source. */
#include "sources/kept_source.h"

#include "core/error.h"

#include <stdlib.h>

typedef struct kept_source {
    pfd_source inner; /* owned */
    pfd_kept kept;    /* owned */
} kept_source;

static void close_source(void *source)
{
    kept_source *self = source;
    self->inner.methods->close(self->inner.self);
    self->kept.free(self->kept.data);
    free(self);
}

static int64_t size_of(void *source)
{
    const kept_source *self = source;
    return self->inner.methods->size(self->inner.self);
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const kept_source *self = source;
    return self->inner.methods->at(self->inner.self, ordinals, n, scratch, out, err);
}

static pfd_status next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out, int64_t *n,
                       pfd_error *err)
{
    const kept_source *self = source;
    return self->inner.methods->next(self->inner.self, max, scratch, out, n, err);
}

static pfd_status seek(void *source, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    const kept_source *self = source;
    return self->inner.methods->seek(self->inner.self, epoch, position, scratch, err);
}

static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const kept_source *self = source;
    if (self->inner.methods->describe)
        self->inner.methods->describe(self->inner.self, record, err);
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const kept_source *self = source;
    self->inner.methods->places(self->inner.self, ordinals, n, out);
}

static const pfd_source_methods random_access = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_source,
    .size = size_of,
    .at = at,
    .describe = describe,
    .places = places,
};

static const pfd_source_methods without_places = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_source,
    .size = size_of,
    .at = at,
    .describe = describe,
};

static const pfd_source_methods stream = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_source,
    .next = next,
    .seek = seek,
    .describe = describe,
};

pfd_status pfd_kept_source_open(const pfd_kept *kept, pfd_source *source, pfd_error *err)
{
    const pfd_source_methods *inner = source->methods;
    kept_source *self = malloc(sizeof *self);
    if (!self) {
        inner->close(source->self);
        kept->free(kept->data);
        return pfd_fail_memory(err, (int64_t)sizeof *self, "a source");
    }
    *self = (kept_source){.inner = *source, .kept = *kept};
    source->self = self;
    source->methods = &stream;
    if (inner->at)
        source->methods = inner->places && !kept->hides_places ? &random_access : &without_places;
    return PFD_OK;
}

void *pfd_kept_source_data(const void *self)
{
    return ((const kept_source *)self)->kept.data;
}
