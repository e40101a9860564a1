/* What decorators share: making one, records one by one, and copies of records. */
#include "dataset/decorator.h"

#include <stdlib.h>
#include <string.h>

void *pfd_decorator_create(size_t bytes, const pfd_dataset_methods *methods, pfd_dataset *inner,
                           pfd_error *err)
{
    pfd_dataset *self = calloc(1, bytes);
    if (!self) {
        (void)pfd_fail_memory(err, (int64_t)bytes, methods->name);
        return NULL;
    }
    *self = (pfd_dataset){.methods = methods, .inner = inner};
    return self;
}

void pfd_decorator_close(pfd_dataset *ds)
{
    pfd_dataset_close(ds->inner);
    free(ds);
}

int64_t pfd_decorator_size(const pfd_dataset *ds)
{
    return ds->inner->methods->size(ds->inner);
}

/* ---- Records one by one, fetched in pieces --------------------------------------------------- */

pfd_status pfd_record_feed_open(pfd_record_feed *feed, pfd_dataset *inner, pfd_error *err)
{
    feed->inner = inner;
    feed->scratch = pfd_scratch_create();
    if (!feed->scratch) return pfd_fail_memory(err, PFD_RECORDS_PER_FEED, "records read ahead");
    return PFD_OK;
}

void pfd_record_feed_close(pfd_record_feed *feed)
{
    pfd_scratch_free(feed->scratch);
    feed->scratch = NULL;
}

pfd_status pfd_record_feed_seek(pfd_record_feed *feed, int64_t epoch, pfd_error *err)
{
    feed->next = feed->count = 0;
    feed->ended = 0;
    return pfd_dataset_seek(feed->inner, epoch, 0, err);
}

pfd_status pfd_record_feed_peek(pfd_record_feed *feed, const pfd_record **record, pfd_error *err)
{
    if (feed->next == feed->count) {
        if (feed->ended) return PFD_END;
        feed->next = feed->count = 0;
        pfd_scratch_reset(feed->scratch);
        int64_t n = 0;
        pfd_status status = pfd_dataset_next(feed->inner, PFD_RECORDS_PER_FEED, feed->scratch,
                                             feed->records, &n, err);
        if (status == PFD_END) feed->ended = 1;
        if (status < 0) err->row = -1;
        if (status != PFD_OK) return status;
        if (n < 1 || n > PFD_RECORDS_PER_FEED) {
            return pfd_dataset_fail_count(n, PFD_RECORDS_PER_FEED, err);
        }
        feed->count = n;
    }
    *record = &feed->records[feed->next];
    return PFD_OK;
}

void pfd_record_feed_take(pfd_record_feed *feed)
{
    feed->next++;
}

int32_t pfd_record_feed_is_ready(const pfd_record_feed *feed)
{
    return feed->ended || feed->next < feed->count;
}

/* ---- Copies in cells ------------------------------------------------------------------------- */

enum { SMALLEST = 64, MUCH = 1024 * 1024 };

/* Enough for this record and for one a little larger; one huge record does not keep its memory in
 * the cell for ever. */
static int64_t capacity_for(const pfd_record_cell *cell, int64_t size)
{
    int64_t wasted = cell->capacity - size;
    if (wasted >= 0 && !(wasted > MUCH && wasted > 3 * size)) return cell->capacity;
    return size < SMALLEST ? SMALLEST : size + size / 4;
}

pfd_status pfd_record_cell_store(pfd_record_cell *cell, const pfd_record *record, pfd_error *err)
{
    int64_t capacity = capacity_for(cell, record->size);
    if (capacity != cell->capacity) {
        uint8_t *memory = malloc((size_t)capacity);
        if (!memory) return pfd_fail_memory(err, capacity, "a copy of a record");
        free(cell->memory);
        cell->memory = memory;
        cell->capacity = capacity;
    }
    if (record->size > 0) memcpy(cell->memory, record->data, (size_t)record->size);
    cell->record = *record;
    cell->record.data = cell->memory;
    return PFD_OK;
}

void pfd_record_cell_free(pfd_record_cell *cell)
{
    free(cell->memory);
    *cell = (pfd_record_cell){0};
}
