/* fake_dataset.h -- for the tests of datasets: sources whose records tell what they are, a way to
 * read an epoch, and counted checks. */
#ifndef PFD_TESTS_FAKE_DATASET_H
#define PFD_TESTS_FAKE_DATASET_H
#include "check.h"

#include "core/error.h"
#include "core/scratch.h"
#include "dataset/dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For set-up: without it nothing that follows would mean anything. */
static inline void must(pfd_status status, const pfd_error *err, const char *file, int line)
{
    if (status == PFD_OK) return;
    printf("%s:%d: status %d: %s\n", file, line, status, err->message);
    exit(1);
}
#define MUST(call) must((call), &err, __FILE__, __LINE__)

/* ---- Sources --------------------------------------------------------------------------------- */

typedef struct source {
    pfd_dataset base;
    int64_t size;
    int64_t bad;     /* this ordinal fails; -1: none */
    int32_t bad_for; /* so many times; -1: always */
    int32_t *closed; /* counts; may be NULL */
} source;

/* Sizes from 0 bytes on; bytes that tell the ordinal. */
static inline int64_t size_of(int64_t ordinal)
{
    return ordinal % 7 == 3 ? 0 : 1 + ordinal % 90;
}

static inline uint8_t byte_of(int64_t ordinal)
{
    return (uint8_t)(ordinal * 31 + 7);
}

static inline void make_record(int64_t ordinal, pfd_scratch *scratch, pfd_record *out)
{
    uint8_t *data = pfd_scratch_alloc(scratch, size_of(ordinal));
    memset(data, byte_of(ordinal), (size_t)size_of(ordinal));
    *out = (pfd_record){.data = data, .size = size_of(ordinal), .offset = ordinal * 100,
                        .ordinal = ordinal, .file = (int32_t)(ordinal % 3)};
}

static inline int is_whole(const pfd_record *record)
{
    int ok = record->size == size_of(record->ordinal) && record->offset == record->ordinal * 100 &&
             record->file == record->ordinal % 3;
    for (int64_t i = 0; ok && i < record->size; i++) {
        ok = record->data[i] == byte_of(record->ordinal);
    }
    return ok;
}

static inline void source_close(pfd_dataset *ds)
{
    if (((source *)ds)->closed) ++*((source *)ds)->closed;
    free(ds);
}

static inline int64_t source_size(const pfd_dataset *ds)
{
    return ((const source *)ds)->size;
}

static inline pfd_status source_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                                   int64_t n, pfd_scratch *scratch, pfd_record *out,
                                   pfd_error *err)
{
    const source *self = (const source *)ds;
    (void)epoch;
    for (int64_t i = 0; i < n; i++) {
        if (positions[i] < 0 || positions[i] >= self->size) {
            return pfd_fail(err, PFD_INTERNAL, "position %" PRId64, positions[i]);
        }
        if (positions[i] == self->bad) {
            pfd_status status = pfd_fail(err, PFD_CORRUPT_DATA, "bad record");
            err->row = i;
            return status;
        }
        make_record(positions[i], scratch, &out[i]);
    }
    return PFD_OK;
}

/* Gives out runs of varying length, as a file read in blocks would. */
static inline pfd_status source_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch,
                                     pfd_record *out, int64_t *n, pfd_error *err)
{
    source *self = (source *)ds;
    *n = 0;
    int64_t most = 1 + ds->position * 7 % 5;
    while (*n < max && *n < most && ds->position < self->size) {
        if (ds->position == self->bad && self->bad_for != 0) {
            if (*n > 0) return PFD_OK;
            if (self->bad_for > 0) self->bad_for--;
            pfd_status status = pfd_fail(err, PFD_CORRUPT_DATA, "bad record");
            err->row = 0;
            return status;
        }
        make_record(ds->position++, scratch, &out[(*n)++]);
    }
    return *n > 0 ? PFD_OK : PFD_END;
}

static inline pfd_status source_seek(pfd_dataset *ds, int64_t epoch, int64_t position,
                                     pfd_error *err)
{
    (void)err;
    ds->epoch = epoch;
    ds->position = position;
    return PFD_OK;
}

static inline void source_describe(const pfd_dataset *ds, const pfd_record *record, pfd_error *err)
{
    (void)ds;
    err->line = record->ordinal + 1;
}

static const pfd_dataset_methods at_methods = { .name = "FakeFile", .close = source_close,
    .size = source_size, .at = source_at, .describe = source_describe,
};
static const pfd_dataset_methods stream_methods = { .name = "FakeStream", .close = source_close,
    .next = source_next, .seek = source_seek, .describe = source_describe,
};

static inline pfd_dataset *open_source(int stream, int64_t size)
{
    source *self = calloc(1, sizeof *self);
    if (!self) exit(1);
    *self = (source){.base.methods = stream ? &stream_methods : &at_methods, .size = size,
                     .bad = -1, .bad_for = -1};
    return &self->base;
}

/* ---- Reading an epoch ------------------------------------------------------------------------ */

#define MOST_ROWS 4096

/* What an epoch consists of; batch i is the rows [ends[i - 1], ends[i]). */
typedef struct epoch_rows {
    int64_t rows, batches;
    int64_t ordinals[MOST_ROWS];
    int32_t fillers[MOST_ROWS];
    int64_t ends[MOST_ROWS];
} epoch_rows;

static pfd_scratch *scratch; /* of the main thread; from begin_tests() to end_tests() */

/* Reads on from where ds is; one next() is one batch here. */
static inline void read_on(pfd_dataset *ds, int64_t max, epoch_rows *out)
{
    static pfd_record records[MOST_ROWS];
    pfd_error err = {.struct_size = sizeof err};
    out->rows = out->batches = 0;
    for (;;) {
        int64_t n = 99;
        pfd_scratch_reset(scratch);
        pfd_status status = pfd_dataset_next(ds, max, scratch, records, &n, &err);
        if (status == PFD_END) {
            CHECK(n == 0);
            break;
        }
        must(status, &err, __FILE__, __LINE__);
        for (int64_t i = 0; i < n; i++) {
            CHECK(is_whole(&records[i]));
            out->ordinals[out->rows] = records[i].ordinal;
            out->fillers[out->rows++] = records[i].filler;
        }
        out->ends[out->batches++] = out->rows;
    }
    int64_t n = 99; /* the end stays the end */
    CHECK(pfd_dataset_next(ds, max, scratch, records, &n, &err) == PFD_END && n == 0);
}

static inline void read_epoch(pfd_dataset *ds, int64_t epoch, int64_t position, int64_t max,
                       epoch_rows *out)
{
    pfd_error err = {.struct_size = sizeof err};
    MUST(pfd_dataset_seek(ds, epoch, position, &err));
    read_on(ds, max, out);
}

static inline int same_rows(const epoch_rows *a, int64_t a_row, const epoch_rows *b, int64_t b_row,
                     int64_t n)
{
    size_t count = (size_t)n;
    return !memcmp(a->ordinals + a_row, b->ordinals + b_row, count * sizeof *a->ordinals) &&
           !memcmp(a->fillers + a_row, b->fillers + b_row, count * sizeof *a->fillers);
}

static inline int same_epoch(const epoch_rows *a, const epoch_rows *b)
{
    return a->rows == b->rows && a->batches == b->batches && same_rows(a, 0, b, 0, a->rows) &&
           !memcmp(a->ends, b->ends, (size_t)a->batches * sizeof *a->ends);
}

static inline int64_t begin_of(const epoch_rows *rows, int64_t b)
{
    return b == 0 ? 0 : rows->ends[b - 1];
}

/* Every ordinal of [0, n) once, fillers apart. */
static inline int is_exact(const epoch_rows *rows, int64_t n)
{
    static int32_t seen[MOST_ROWS];
    memset(seen, 0, sizeof seen);
    int64_t count = 0;
    for (int64_t i = 0; i < rows->rows; i++) {
        if (rows->fillers[i]) continue;
        if (rows->ordinals[i] < 0 || rows->ordinals[i] >= n || seen[rows->ordinals[i]]++) return 0;
        count++;
    }
    return count == n;
}

/* Appends the part of `rank` of each batch of `logical`. */
static inline void model_rank(const epoch_rows *logical, int64_t rank, int64_t world_size,
                              epoch_rows *out)
{
    out->rows = out->batches = 0;
    for (int64_t b = 0; b < logical->batches; b++) {
        int64_t row = begin_of(logical, b), rows = logical->ends[b] - row;
        for (int64_t r = 0; r <= rank; r++) {
            int64_t part = (rows + world_size - 1 - r) / world_size;
            for (int64_t i = 0; i < part && r == rank; i++) {
                out->fillers[out->rows] = logical->fillers[row + i];
                out->ordinals[out->rows++] = logical->ordinals[row + i];
            }
            row += part;
        }
        out->ends[out->batches++] = out->rows;
    }
}

static inline pfd_status batch_wrap(pfd_dataset **ds, int64_t batch_size, int32_t last_batch,
                                    int64_t world_size, pfd_error *err)
{
    pfd_batch_rule rule = {
        .batch_size = batch_size, .world_size = world_size, .last_batch = last_batch};
    return pfd_batch_wrap(ds, &rule, err);
}

/* The shuffle that a reader gets for shuffle="auto". */
static inline pfd_status shuffle(pfd_dataset **ds, int64_t seed, const char *order_key,
                                 int32_t reshuffle, int64_t buffer_size, pfd_error *err)
{
    return pfd_dataset_is_random_access(*ds)
               ? pfd_random_shuffle_wrap(ds, seed, order_key, reshuffle, err)
               : pfd_shuffle_buffer_wrap(ds, seed, order_key, reshuffle, buffer_size, err);
}

static inline void begin_tests(void)
{
    scratch = pfd_scratch_create();
    if (!scratch) exit(1);
}

/* Returns the exit status. */
static inline int end_tests(void)
{
    pfd_scratch_free(scratch);
    return report();
}
#endif
