/* Every epoch in a random order, over a stream: a buffer from which a random record goes out for
 * each one that comes in.
 *
 * A draw is a function of key, position and the number of records in the buffer, so that an epoch
 * read again comes out in the same order.
 */
#include "core/error.h"
#include "core/random.h"
#include "dataset/decorator.h"

#include <stdlib.h>
#include <string.h>

typedef struct shuffle_buffer {
    pfd_dataset base; /* base.position: records given out in base.epoch */
    pfd_record_feed feed;
    int64_t seed;
    char *order_key;
    int32_t reshuffle;
    uint64_t key;           /* of the epoch */
    pfd_record_cell *cells; /* the first `size` hold a record */
    int64_t size, capacity, buffer_size;
} shuffle_buffer;

static void shuffle_buffer_free(shuffle_buffer *self)
{
    for (int64_t i = 0; i < self->capacity; i++) pfd_record_cell_free(&self->cells[i]);
    free(self->cells);
    free(self->order_key);
    pfd_record_feed_close(&self->feed);
    free(self);
}

static void shuffle_buffer_close(pfd_dataset *ds)
{
    pfd_dataset_close(ds->inner);
    shuffle_buffer_free((shuffle_buffer *)ds);
}

static void begin_epoch(shuffle_buffer *self, int64_t epoch)
{
    self->size = 0;
    self->base.epoch = epoch;
    self->base.position = 0;
    self->key = pfd_random_key(self->seed, self->reshuffle ? epoch : 0, self->order_key);
}

/* The cells grow with what comes in: a large buffer costs nothing for a small dataset. */
static pfd_status grow(shuffle_buffer *self, pfd_error *err)
{
    int64_t capacity = self->capacity < 32 ? 64 : self->capacity * 2;
    if (capacity > self->buffer_size) capacity = self->buffer_size;
    int64_t bytes = capacity * (int64_t)sizeof *self->cells;
    pfd_record_cell *cells = realloc(self->cells, (size_t)bytes);
    if (!cells) return pfd_fail_memory(err, bytes, "shuffle_buffer_size records");
    memset(cells + self->capacity, 0, (size_t)(capacity - self->capacity) * sizeof *cells);
    self->cells = cells;
    self->capacity = capacity;
    return PFD_OK;
}

/* Fills the buffer and fetches the record after it, or finds that there is none. */
static pfd_status fill(shuffle_buffer *self, pfd_error *err)
{
    for (;;) {
        const pfd_record *record;
        pfd_status status = pfd_record_feed_peek(&self->feed, &record, err);
        if (status == PFD_END) return PFD_OK;
        if (status != PFD_OK || self->size == self->buffer_size) return status;
        if (self->size == self->capacity) PFD_TRY(grow(self, err));
        PFD_TRY(pfd_record_cell_store(&self->cells[self->size], record, err));
        self->size++;
        pfd_record_feed_take(&self->feed);
    }
}

static int64_t draw(const shuffle_buffer *self)
{
    return pfd_random_below(self->key, (uint64_t)self->base.position, self->size);
}

/* Replaces the drawn record by the following one, at the end of the epoch by the last one. */
static pfd_status replace(shuffle_buffer *self, int64_t drawn, pfd_error *err)
{
    const pfd_record *record;
    pfd_status status = pfd_record_feed_peek(&self->feed, &record, err);
    if (status == PFD_OK) {
        PFD_TRY(pfd_record_cell_store(&self->cells[drawn], record, err));
        pfd_record_feed_take(&self->feed);
    } else if (status == PFD_END) {
        self->size--;
        pfd_record_cell free_cell = self->cells[drawn];
        self->cells[drawn] = self->cells[self->size];
        self->cells[self->size] = free_cell;
    } else {
        return status;
    }
    self->base.position++;
    return PFD_OK;
}

/* Delivers only records that need no further call of the inner dataset: so a failure always comes
 * before a record leaves the buffer. */
static pfd_status shuffle_buffer_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch,
                                      pfd_record *out, int64_t *n, pfd_error *err)
{
    shuffle_buffer *self = (shuffle_buffer *)ds;
    *n = 0;
    PFD_TRY(fill(self, err));
    if (self->size == 0) return PFD_END;
    do {
        int64_t drawn = draw(self);
        pfd_status status = pfd_record_copy(&self->cells[drawn].record, scratch, &out[*n], err);
        if (status == PFD_OK) status = replace(self, drawn, err);
        if (status != PFD_OK && *n == 0) return status;
        if (status != PFD_OK) break; /* the next call fails, if it must */
        ++*n;
    } while (*n < max && self->size > 0 && pfd_record_feed_is_ready(&self->feed));
    pfd_error_clear(err);
    return PFD_OK;
}

/* The buffer depends on the whole epoch before: it is read again up to there. Damaged records do
 * not count in the order. */
static pfd_status shuffle_buffer_seek(pfd_dataset *ds, int64_t epoch, int64_t position,
                                      pfd_error *err)
{
    shuffle_buffer *self = (shuffle_buffer *)ds;
    begin_epoch(self, epoch);
    PFD_TRY(pfd_record_feed_seek(&self->feed, epoch, err));
    while (self->base.position < position) {
        pfd_status status = fill(self, err);
        if (status == PFD_OK && self->size == 0) break;
        if (status == PFD_OK) status = replace(self, draw(self), err);
        if (status != PFD_OK && !pfd_error_can_pass(status, err)) return status;
    }
    pfd_error_clear(err); /* of the damaged records that were skipped */
    return PFD_OK;
}

static const pfd_dataset_methods shuffle_buffer_methods = {
    .name = "RandomShuffle",
    .close = shuffle_buffer_close,
    .next = shuffle_buffer_next,
    .seek = shuffle_buffer_seek,
};

pfd_status pfd_shuffle_buffer_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                   int32_t reshuffle, int64_t buffer_size, pfd_error *err)
{
    shuffle_buffer *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "RandomShuffle");
    self->base = (pfd_dataset){.methods = &shuffle_buffer_methods, .inner = *ds};
    self->seed = seed;
    self->reshuffle = reshuffle;
    self->buffer_size = buffer_size;
    self->order_key = strdup(order_key);
    pfd_status status = self->order_key
                            ? pfd_record_feed_open(&self->feed, *ds, err)
                            : pfd_fail_memory(err, (int64_t)strlen(order_key), "order_key");
    if (status != PFD_OK) {
        shuffle_buffer_free(self);
        return status;
    }
    begin_epoch(self, 0);
    *ds = &self->base;
    return PFD_OK;
}
