/* The inner end of a chain: the source of an op or of places, and the cancellation over it. */
#include "dataset/decorator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- An op's source. Its struct of methods may be an older, shorter one. --------------------- */

typedef struct source {
    pfd_dataset base;
    pfd_source_methods methods; /* fields that the author's header lacks are zero */
    void *self;
    pfd_scratch *scratch; /* memory of seek() */
} source;

static void source_close(pfd_dataset *ds)
{
    source *s = (source *)ds;
    s->methods.close(s->self);
    pfd_scratch_free(s->scratch);
    free(s);
}

static int64_t source_size(const pfd_dataset *ds)
{
    const source *s = (const source *)ds;
    return s->methods.size(s->self);
}

/* Where records lie, as far as the source can tell without reading. */
static void place_records(const source *s, const int64_t *ordinals, int64_t n, pfd_record *out)
{
    for (int64_t i = 0; i < n; i++) {
        pfd_place place = {.file = -1};
        if (s->methods.places) s->methods.places(s->self, &ordinals[i], 1, &place);
        out[i] = (pfd_record){.file = place.file, .offset = place.offset, .ordinal = ordinals[i]};
    }
}

static pfd_status source_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                            int64_t n, pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    (void)epoch;
    const source *s = (const source *)ds;
    if (!scratch) {
        place_records(s, positions, n, out);
        return PFD_OK;
    }
    return s->methods.at(s->self, positions, n, scratch, out, err);
}

static pfd_status source_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch, pfd_record *out,
                              int64_t *n, pfd_error *err)
{
    source *s = (source *)ds;
    return s->methods.next(s->self, max, scratch, out, n, err);
}

static pfd_status source_seek(pfd_dataset *ds, int64_t epoch, int64_t position, pfd_error *err)
{
    source *s = (source *)ds;
    pfd_scratch_reset(s->scratch);
    return s->methods.seek(s->self, epoch, position, s->scratch, err);
}

static void source_describe(const pfd_dataset *ds, const pfd_record *record, pfd_error *err)
{
    const source *s = (const source *)ds;
    if (s->methods.describe) s->methods.describe(s->self, record, err);
}

static const pfd_dataset_methods random_access_methods = {
    .name = "source",
    .close = source_close,
    .size = source_size,
    .at = source_at,
    .describe = source_describe,
};

static const pfd_dataset_methods stream_methods = {
    .name = "source",
    .close = source_close,
    .next = source_next,
    .seek = source_seek,
    .describe = source_describe,
};

static pfd_status fault(const pfd_source_methods *methods, void *self, const char *found,
                        pfd_error *err)
{
    if (methods->close) methods->close(self);
    return pfd_fail(err, PFD_INTERNAL, "the source that open() returned: %s", found);
}

static pfd_status check(const pfd_source_methods *methods, void *self, pfd_error *err)
{
    if (!methods->close) return fault(methods, self, "close is NULL", err);
    if (!methods->size != !methods->at)
        return fault(methods, self, "either size or at is NULL; random access needs both", err);
    if (!methods->next != !methods->seek)
        return fault(methods, self, "either next or seek is NULL; a stream needs both", err);
    if (!methods->at && !methods->next)
        return fault(methods, self, "it has neither size and at nor next and seek", err);
    return PFD_OK;
}

pfd_status pfd_source_to_dataset(const pfd_source *from, const pfd_bounds *bounds,
                                 pfd_dataset **out, pfd_error *err)
{
    if (!from->methods)
        return pfd_fail(err, PFD_INTERNAL, "open() returned no source: methods is NULL");
    const uint32_t most = (uint32_t)sizeof(pfd_source_methods);
    uint32_t size = from->methods->struct_size;
    pfd_source_methods methods = {0};
    if (size < offsetof(pfd_source_methods, size))
        return pfd_fail(err, PFD_INTERNAL,
                        "the source that open() returned: struct_size of its methods is %" PRIu32
                        "; it must be sizeof(pfd_source_methods)",
                        size);
    memcpy(&methods, from->methods, size < most ? size : most);
    PFD_TRY(check(&methods, from->self, err));
    source *s = calloc(1, sizeof *s);
    pfd_scratch *scratch = pfd_scratch_create();
    if (!s || !scratch) {
        free(s);
        pfd_scratch_free(scratch);
        methods.close(from->self);
        return pfd_fail_memory(err, (int64_t)sizeof *s, "a source");
    }
    s->base.methods = methods.at ? &random_access_methods : &stream_methods;
    s->methods = methods;
    s->self = from->self;
    s->scratch = scratch;
    pfd_scratch_set_bounds(scratch, bounds);
    *out = &s->base;
    return PFD_OK;
}

uint64_t pfd_source_fingerprint(const pfd_dataset *ds)
{
    const source *s = (const source *)ds;
    return s->methods.fingerprint ? s->methods.fingerprint(s->self) : 0;
}

int64_t pfd_source_record_bytes(const pfd_dataset *ds)
{
    const source *s = (const source *)ds;
    const int64_t most = (int64_t)1 << 40; /* sums of it are an int64_t */
    int64_t bytes = s->methods.record_bytes ? s->methods.record_bytes(s->self) : 0;
    return bytes < 0 ? 0 : bytes < most ? bytes : most;
}

const void *pfd_source_self(const pfd_dataset *ds)
{
    return ((const source *)ds)->self;
}

int32_t pfd_source_places(const pfd_dataset *ds, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const source *s = (const source *)ds;
    if (!s->methods.places) return 0;
    s->methods.places(s->self, ordinals, n, out);
    return 1;
}

int32_t pfd_source_need(const pfd_dataset *ds, const int64_t *ordinals, int64_t n,
                        pfd_scratch *scratch)
{
    const source *s = (const source *)ds;
    if (ds->methods != &random_access_methods || !s->methods.need) return 0;
    return s->methods.need(s->self, ordinals, n, scratch);
}

const int64_t *pfd_source_blocks(const pfd_dataset *ds, int64_t *num_blocks)
{
    const source *s = (const source *)ds;
    if (ds->methods != &random_access_methods || !s->methods.blocks) return NULL;
    return s->methods.blocks(s->self, num_blocks);
}

/* ---- Places: record i of an epoch is (epoch, i), for views to find the record of ------------- */

typedef struct place_source {
    pfd_dataset base;
    int64_t size;
} place_source;

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
    .close = pfd_decorator_close, /* it has no inner dataset */
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

/* ---- Cancellation ---------------------------------------------------------------------------- */

/* Lies directly over the source: it stops reading when the loader closes, and moves a stream past a
 * damaged record. */
typedef struct cancellation {
    pfd_dataset base; /* stream: the next record is base.position of base.epoch */
    int32_t damaged;  /* stream: it may be the one that failed */
    const _Atomic int32_t *cancelled;
} cancellation;

static pfd_status check_running(const pfd_dataset *ds, pfd_error *err)
{
    const cancellation *self = (const cancellation *)ds;
    if (!atomic_load_explicit(self->cancelled, memory_order_relaxed)) return PFD_OK;
    return pfd_fail(err, PFD_CANCELLED, "the loader is closing");
}

static pfd_status cancellation_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                                  int64_t n, pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    PFD_TRY(check_running(ds, err));
    return ds->inner->methods->at(ds->inner, epoch, positions, n, scratch, out, err);
}

static pfd_status cancellation_seek(pfd_dataset *ds, int64_t epoch, int64_t position,
                                    pfd_error *err)
{
    PFD_TRY(check_running(ds, err));
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
    PFD_TRY(check_running(ds, err));
    if (self->damaged) PFD_TRY(cancellation_seek(ds, ds->epoch, ds->position + 1, err));
    pfd_status status = pfd_dataset_next(ds->inner, max, scratch, out, n, err);
    if (status == PFD_OK) ds->position += *n;
    self->damaged = pfd_error_can_pass(status, err);
    return status;
}

static const pfd_dataset_methods cancellation_methods = {
    .name = "Cancellation",
    .close = pfd_decorator_close,
    .size = pfd_decorator_size,
    .at = cancellation_at,
};

static const pfd_dataset_methods cancellation_stream_methods = {
    .name = "Cancellation",
    .close = pfd_decorator_close,
    .next = cancellation_next,
    .seek = cancellation_seek,
};

pfd_status pfd_cancellation_wrap(pfd_dataset **ds, const _Atomic int32_t *cancelled,
                                 pfd_error *err)
{
    const pfd_dataset_methods *methods = pfd_dataset_is_random_access(*ds)
                                             ? &cancellation_methods
                                             : &cancellation_stream_methods;
    cancellation *self = pfd_decorator_create(sizeof *self, methods, *ds, err);
    if (!self) return PFD_OUT_OF_MEMORY;
    self->cancelled = cancelled;
    *ds = &self->base;
    return PFD_OK;
}
