/* Batches of one group each: records wait in their group until its batch is full.
 *
 * Waiting records are chains of cells, one chain per group; groups are found by a hash table and
 * listed by the age of their first waiting record.  The order of the batches depends only on the
 * order of the records.
 */
#include "core/error.h"
#include "core/random.h"
#include "dataset/decorator.h"

#include <stdlib.h>
#include <string.h>

#define NONE (-1) /* as an index: nothing */

typedef struct waiting_record {
    pfd_record_cell cell;
    int64_t following; /* in its group or in the free list */
} waiting_record;

typedef struct pending_group {
    int64_t id;
    int64_t first, last; /* records, in order of arrival */
    int64_t size;
    int64_t older, newer;
    int64_t following; /* in its bucket or in the free list */
} pending_group;

typedef struct group_batch {
    pfd_dataset base;
    pfd_record_feed feed;
    int64_t batch_size, buffer_size;
    int32_t last_batch;
    pfd_group_fn group_of;
    const void *ctx;

    int64_t capacity; /* room for records, groups and buckets; 0 or a power of two */
    waiting_record *records;
    pending_group *groups;
    int64_t *buckets; /* index into groups */
    int64_t free_record, free_group;
    int64_t num_waiting;
    int64_t oldest, newest; /* groups */
    int64_t ready;          /* the group that goes out next, once known */
} group_batch;

static void group_batch_free(group_batch *self)
{
    for (int64_t i = 0; i < self->capacity; i++) pfd_record_cell_free(&self->records[i].cell);
    free(self->records);
    free(self->groups);
    free(self->buckets);
    pfd_record_feed_close(&self->feed);
    free(self);
}

static void group_batch_close(pfd_dataset *ds)
{
    pfd_dataset_close(ds->inner);
    group_batch_free((group_batch *)ds);
}

/* ---- The table of groups --------------------------------------------------------------------- */

static int64_t *bucket_of(const group_batch *self, int64_t id)
{
    uint64_t hash = pfd_random_bits((uint64_t)id, 0);
    return &self->buckets[hash & (uint64_t)(self->capacity - 1)];
}

static void enter_into_bucket(group_batch *self, int64_t index)
{
    int64_t *bucket = bucket_of(self, self->groups[index].id);
    self->groups[index].following = *bucket;
    *bucket = index;
}

static int64_t find_group(const group_batch *self, int64_t id)
{
    int64_t index = *bucket_of(self, id);
    while (index != NONE && self->groups[index].id != id) index = self->groups[index].following;
    return index;
}

static void leave_bucket(group_batch *self, int64_t index)
{
    int64_t *link = bucket_of(self, self->groups[index].id);
    while (*link != index) link = &self->groups[*link].following;
    *link = self->groups[index].following;
}

/* Twice the room.  Each reallocated array is stored at once, so a failure leaves a valid table. */
static pfd_status grow(group_batch *self, pfd_error *err)
{
    int64_t old = self->capacity;
    int64_t capacity = old ? 2 * old : 64;
    size_t count = (size_t)capacity;
    waiting_record *records = realloc(self->records, count * sizeof *records);
    if (records) self->records = records;
    pending_group *groups = realloc(self->groups, count * sizeof *groups);
    if (groups) self->groups = groups;
    int64_t *buckets = realloc(self->buckets, count * sizeof *buckets);
    if (buckets) self->buckets = buckets;
    if (!records || !groups || !buckets) {
        int64_t bytes = capacity * (int64_t)(sizeof *records + sizeof *groups + sizeof *buckets);
        return pfd_fail_memory(err, bytes, "group_buffer_size records");
    }
    self->capacity = capacity;
    for (int64_t i = old; i < capacity; i++) {
        records[i] = (waiting_record){.following = self->free_record};
        self->free_record = i;
        groups[i].following = self->free_group;
        self->free_group = i;
    }
    for (int64_t i = 0; i < capacity; i++) buckets[i] = NONE;
    for (int64_t i = self->oldest; i != NONE; i = groups[i].newer) enter_into_bucket(self, i);
    return PFD_OK;
}

/* Needs a free group. */
static int64_t add_group(group_batch *self, int64_t id)
{
    int64_t index = self->free_group;
    pending_group *added = &self->groups[index];
    self->free_group = added->following;
    *added = (pending_group){
        .id = id, .first = NONE, .last = NONE, .older = self->newest, .newer = NONE};
    if (self->newest == NONE) self->oldest = index;
    else self->groups[self->newest].newer = index;
    self->newest = index;
    enter_into_bucket(self, index);
    return index;
}

/* Forgets a group with all its records. */
static void remove_group(group_batch *self, int64_t index)
{
    pending_group *gone = &self->groups[index];
    leave_bucket(self, index);
    if (gone->older == NONE) self->oldest = gone->newer;
    else self->groups[gone->older].newer = gone->newer;
    if (gone->newer == NONE) self->newest = gone->older;
    else self->groups[gone->newer].older = gone->older;
    self->records[gone->last].following = self->free_record;
    self->free_record = gone->first;
    self->num_waiting -= gone->size;
    gone->following = self->free_group;
    self->free_group = index;
    if (self->ready == index) self->ready = NONE;
}

/* Adds a copy of the record to its group; *index is the group. */
static pfd_status add_record(group_batch *self, int64_t id, const pfd_record *record,
                             int64_t *index, pfd_error *err)
{
    if (self->free_record == NONE) PFD_TRY(grow(self, err));
    int64_t added = self->free_record;
    waiting_record *waiting = &self->records[added];
    PFD_TRY(pfd_record_cell_store(&waiting->cell, record, err));
    self->free_record = waiting->following;
    waiting->following = NONE;
    self->num_waiting++;
    *index = find_group(self, id);
    if (*index == NONE) *index = add_group(self, id);
    pending_group *to = &self->groups[*index];
    if (to->last == NONE) to->first = added;
    else self->records[to->last].following = added;
    to->last = added;
    to->size++;
    return PFD_OK;
}

/* ---- What goes out --------------------------------------------------------------------------- */

/* Reads until a group is ready; PFD_END: none will be. A record without a group is skipped. */
static pfd_status find_ready(group_batch *self, pfd_error *err)
{
    while (self->ready == NONE) {
        const pfd_record *record;
        pfd_status status = pfd_record_feed_peek(&self->feed, &record, err);
        if (status == PFD_END) {
            while (self->last_batch == PFD_LAST_BATCH_DROP && self->oldest != NONE) {
                remove_group(self, self->oldest);
            }
            self->ready = self->oldest;
            return self->ready == NONE ? PFD_END : PFD_OK;
        }
        if (status != PFD_OK) return status;
        int64_t id = 0, index;
        status = self->group_of(self->ctx, record, &id, err);
        if (status != PFD_OK) {
            pfd_record_feed_take(&self->feed);
            err->row = -1; /* no record was delivered */
            return status;
        }
        PFD_TRY(add_record(self, id, record, &index, err));
        pfd_record_feed_take(&self->feed);
        if (self->groups[index].size == self->batch_size) self->ready = index;
        else if (self->num_waiting > self->buffer_size) self->ready = self->oldest;
    }
    return PFD_OK;
}

/* Copies a group's records out, with their bytes in one piece of scratch memory. */
static pfd_status give_out(const group_batch *self, const pending_group *from, pfd_scratch *scratch,
                           pfd_record *out, pfd_error *err)
{
    int64_t bytes = 0;
    for (int64_t i = from->first; i != NONE; i = self->records[i].following) {
        bytes += self->records[i].cell.record.size;
    }
    uint8_t *memory = pfd_scratch_alloc(scratch, bytes);
    if (!memory) return pfd_fail_memory(err, bytes, "a batch of one group");
    for (int64_t i = from->first; i != NONE; i = self->records[i].following) {
        *out = self->records[i].cell.record;
        if (out->size > 0) memcpy(memory, out->data, (size_t)out->size);
        out->data = memory;
        memory += out->size;
        out++;
    }
    return PFD_OK;
}

static pfd_status group_batch_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch,
                                   pfd_record *out, int64_t *n, pfd_error *err)
{
    group_batch *self = (group_batch *)ds;
    *n = 0;
    PFD_TRY(pfd_dataset_check_room(ds, max, self->batch_size, err));
    PFD_TRY(find_ready(self, err));
    const pending_group *from = &self->groups[self->ready];
    int64_t size = from->size;
    PFD_TRY(give_out(self, from, scratch, out, err));
    remove_group(self, self->ready);
    int32_t fill =
        self->last_batch == PFD_LAST_BATCH_PAD || self->last_batch == PFD_LAST_BATCH_WRAP;
    *n = fill ? self->batch_size : size;
    for (int64_t i = size; i < *n; i++) {
        out[i] = out[size - 1];
        out[i].filler = 1;
    }
    return PFD_OK;
}

/* Reads the epoch again from its beginning, since the waiting records depend on all records before.
 * A damaged record made a batch fail, and counts as one batch. */
static pfd_status group_batch_seek(pfd_dataset *ds, int64_t epoch, int64_t position,
                                   pfd_error *err)
{
    group_batch *self = (group_batch *)ds;
    while (self->oldest != NONE) remove_group(self, self->oldest);
    PFD_TRY(pfd_record_feed_seek(&self->feed, epoch, err));
    for (int64_t i = 0; i < position; i++) {
        pfd_status status = find_ready(self, err);
        if (status == PFD_END) break;
        if (status == PFD_OK) remove_group(self, self->ready);
        else if (!pfd_error_can_pass(status, err)) return status;
    }
    pfd_error_clear(err); /* the errors of the damaged records that were skipped */
    return PFD_OK;
}

static const pfd_dataset_methods group_batch_methods = {
    .name = "GroupBatch",
    .close = group_batch_close,
    .next = group_batch_next,
    .seek = group_batch_seek,
};

pfd_status pfd_group_batch_wrap(pfd_dataset **ds, int64_t batch_size, int32_t last_batch,
                                int64_t buffer_size, pfd_group_fn group, const void *ctx,
                                pfd_error *err)
{
    group_batch *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "GroupBatch");
    *self = (group_batch){
        .base = {.methods = &group_batch_methods, .inner = *ds},
        .batch_size = batch_size, .buffer_size = buffer_size, .last_batch = last_batch,
        .group_of = group, .ctx = ctx, .free_record = NONE, .free_group = NONE,
        .oldest = NONE, .newest = NONE, .ready = NONE,
    };
    pfd_status status = pfd_record_feed_open(&self->feed, *ds, err);
    if (status == PFD_OK) status = grow(self, err);
    if (status != PFD_OK) {
        group_batch_free(self);
        return status;
    }
    *ds = &self->base;
    return PFD_OK;
}
