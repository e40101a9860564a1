/* Batches, ranks, failures and threads: the dataset decorators against plain models. */
#include "core/random.h"
#include "fake_dataset.h"

#include <pthread.h>

/* ---- Batches and ranks ----------------------------------------------------------------------- */

/* The logical batches of epoch `epoch`, in the plainest words; ordinals in file order. */
static void model_batches(int64_t n, int64_t batch_size, int32_t last_batch, int64_t world_size,
                          epoch_rows *out)
{
    out->rows = out->batches = 0;
    for (int64_t i = 0; i < n; i++) {
        out->fillers[out->rows] = 0;
        out->ordinals[out->rows++] = i;
        if (out->rows % batch_size == 0) out->ends[out->batches++] = out->rows;
    }
    int64_t rest = n % batch_size;
    if (rest == 0) return;
    if (last_batch == PFD_LAST_BATCH_DROP) {
        out->rows -= rest;
        return;
    }
    if (last_batch == PFD_LAST_BATCH_EVEN) {
        while (rest % world_size != 0) rest--, out->rows--;
        if (rest > 0) out->ends[out->batches++] = out->rows;
        return;
    }
    for (int64_t i = n; last_batch != PFD_LAST_BATCH_SHORT && i % batch_size != 0; i++) {
        out->fillers[out->rows] = 1;
        out->ordinals[out->rows++] = last_batch == PFD_LAST_BATCH_WRAP ? i % n : n - 1;
    }
    out->ends[out->batches++] = out->rows;
}

static void test_batches_and_ranks(int stream)
{
    static epoch_rows expected, part, got;
    pfd_error err = {.struct_size = sizeof err};
    for (int64_t n = 0; n <= 40; n++) {
        for (int64_t size = 1; size <= 12; size++) {
            for (int32_t rule = PFD_LAST_BATCH_SHORT; rule <= PFD_LAST_BATCH_EVEN; rule++) {
                model_batches(n, size, rule, 1, &expected);
                pfd_dataset *ds = open_source(stream, n);
                MUST(batch_wrap(&ds, size, rule, 1, &err));
                read_on(ds, size, &got); /* a fresh one is at the beginning of epoch 0 */
                CHECK(same_epoch(&expected, &got));
                read_epoch(ds, 1, 0, size, &got);
                CHECK(same_epoch(&expected, &got));
                pfd_dataset_close(ds);
                for (int64_t world = 1; world <= 8; world++) {
                    model_batches(n, size, rule, world, &expected);
                    for (int64_t rank = 0; rank < world; rank++) {
                        ds = open_source(stream, n);
                        MUST(batch_wrap(&ds, size, rule, world, &err));
                        MUST(pfd_distributed_training_wrap(&ds, size, rank, world, &err));
                        read_epoch(ds, 0, 0, (size + world - 1) / world, &got);
                        model_rank(&expected, rank, world, &part);
                        CHECK(same_epoch(&part, &got));
                        pfd_dataset_close(ds);
                    }
                }
            }
        }
    }
}

static void test_seek_to_every_batch(int stream, int64_t n, int64_t size, int32_t rule)
{
    static epoch_rows whole, rest;
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(stream, n);
    MUST(shuffle(&ds, 5, "reader", 1, 6, &err));
    MUST(batch_wrap(&ds, size, rule, 1, &err));
    MUST(pfd_distributed_training_wrap(&ds, size, 1, 3, &err));
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        read_epoch(ds, epoch, 0, size, &whole);
        for (int64_t b = whole.batches; b >= 0; b--) { /* backwards: each seek really moves */
            read_epoch(ds, epoch, b, size, &rest);
            int64_t row = begin_of(&whole, b);
            CHECK(rest.batches == whole.batches - b && rest.rows == whole.rows - row &&
                  same_rows(&rest, 0, &whole, row, rest.rows));
        }
        read_epoch(ds, epoch, INT64_MAX, size, &rest);
        CHECK(rest.batches == 0);
    }
    pfd_dataset_close(ds);
}

/* at() in any order, with repeats and in long calls, is the same as reading on. */
static void test_at_is_pure(void)
{
    enum { n = 1000, size = 64, asked = 3000 };
    static epoch_rows order, next_order;
    static int64_t positions[asked];
    static pfd_record records[asked];
    pfd_error err = {.struct_size = sizeof err};
    for (int32_t rule = PFD_LAST_BATCH_SHORT; rule <= PFD_LAST_BATCH_EVEN; rule++) {
        pfd_dataset *ds = open_source(0, n);
        MUST(shuffle(&ds, 3, "reader", 1, 1, &err));
        read_epoch(ds, 4, 0, 100, &order);
        read_epoch(ds, 5, 0, 100, &next_order);
        MUST(batch_wrap(&ds, size, rule, 1, &err));
        int64_t total = ds->methods->size(ds);
        for (int64_t i = 0; i < asked; i++) positions[i] = pfd_random_below(1, (uint64_t)i, total);
        pfd_scratch_reset(scratch);
        MUST(ds->methods->at(ds, 4, positions, asked, scratch, records, &err));
        int ok = 1;
        for (int64_t i = 0; i < asked; i++) {
            int64_t p = positions[i];
            int64_t expected = p < n                          ? order.ordinals[p]
                               : rule == PFD_LAST_BATCH_WRAP ? next_order.ordinals[p - n]
                                                              : order.ordinals[n - 1];
            ok &= records[i].ordinal == expected && records[i].filler == (p >= n) &&
                  is_whole(&records[i]);
        }
        CHECK(ok);
        pfd_dataset_close(ds);
    }
}

/* wrap over random access goes through as many epochs as it takes, each in its own order. */
static void test_wrap_over_several_epochs(int stream)
{
    enum { n = 3, size = 11 };
    static epoch_rows epochs[5], got;
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(stream, n);
    MUST(shuffle(&ds, 9, "reader", 1, 2, &err));
    for (int64_t e = 0; e < 5; e++) read_epoch(ds, e, 0, 4, &epochs[e]);
    MUST(batch_wrap(&ds, size, PFD_LAST_BATCH_WRAP, 1, &err));
    for (int64_t e = 0; e < 2; e++) {
        read_epoch(ds, e, 0, size, &got);
        CHECK(got.batches == 1 && got.rows == size);
        for (int64_t i = 0; i < size; i++) {
            CHECK(got.ordinals[i] == epochs[e + i / n].ordinals[i % n]);
            CHECK(got.fillers[i] == (i >= n));
        }
    }
    pfd_dataset_close(ds);
}

/* ---- Failures -------------------------------------------------------------------------------- */

static void test_row_of_a_failure(void)
{
    enum { n = 2000, size = 700 };
    static pfd_record records[n];
    static int64_t positions[n];
    static epoch_rows order;
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(0, n);
    source *file = (source *)ds;
    MUST(shuffle(&ds, 3, "reader", 1, 1, &err));
    read_epoch(ds, 2, 0, 100, &order);
    MUST(batch_wrap(&ds, size, PFD_LAST_BATCH_WRAP, 1, &err));
    MUST(pfd_distributed_training_wrap(&ds, size, 0, 1, &err));
    for (int64_t bad = 0; bad < n; bad += 37) {
        file->bad = order.ordinals[bad];
        for (int64_t i = 0; i < n; i++) positions[i] = i;
        pfd_scratch_reset(scratch);
        CHECK(ds->methods->at(ds, 2, positions, n, scratch, records, &err) == PFD_CORRUPT_DATA);
        CHECK(err.row == bad && !strcmp(err.message, "bad record"));
        for (int64_t i = 0; i < n; i++) positions[i] = n - 1 - i; /* a filler in front */
        positions[0] = n;
        CHECK(ds->methods->at(ds, 2, positions, n, scratch, records, &err) == PFD_CORRUPT_DATA ||
              bad == n - 1);
        CHECK(err.row == n - 1 - bad || bad == n - 1 || records[0].ordinal == file->bad);
    }
    pfd_dataset_close(ds);
}

/* Through next(), a failure comes when it is the first record's turn, and no other one is lost. */
static void test_failure_of_a_cursor(void)
{
    pfd_record records[64];
    pfd_error err = {.struct_size = sizeof err};
    int64_t n;
    pfd_dataset *ds = open_source(0, 50);
    ((source *)ds)->bad = 20;
    MUST(pfd_dataset_next(ds, 30, scratch, records, &n, &err));
    CHECK(n == 20);
    CHECK(pfd_dataset_next(ds, 30, scratch, records, &n, &err) == PFD_CORRUPT_DATA && n == 0);
    MUST(pfd_dataset_next(ds, 30, scratch, records, &n, &err));
    CHECK(n == 29 && records[0].ordinal == 21);
    CHECK(pfd_dataset_next(ds, 30, scratch, records, &n, &err) == PFD_END);
    pfd_dataset_close(ds);

    static pfd_record many[1000];
    ds = open_source(0, 1000);
    ((source *)ds)->bad = 777;
    MUST(pfd_dataset_next(ds, 1000, scratch, many, &n, &err));
    CHECK(n == 777 && many[776].ordinal == 776);
    CHECK(pfd_dataset_next(ds, 1000, scratch, many, &n, &err) == PFD_CORRUPT_DATA && err.row == 0);
    pfd_dataset_close(ds);
}

/* The batches after one that failed are those they would have been; a stream seeks again. */
static void test_batches_after_a_failure(int stream)
{
    enum { n = 40, size = 6 };
    pfd_record records[size];
    pfd_error err = {.struct_size = sizeof err};
    for (int64_t bad = 0; bad < n; bad++) {
        pfd_dataset *ds = open_source(stream, n);
        source *from = (source *)ds;
        from->bad = bad;
        from->bad_for = 1;
        MUST(batch_wrap(&ds, size, PFD_LAST_BATCH_PAD, 1, &err));
        for (int64_t b = 0; b < 7; b++) {
            int64_t got;
            pfd_scratch_reset(scratch);
            pfd_status status = pfd_dataset_next(ds, size, scratch, records, &got, &err);
            if (b == bad / size) {
                CHECK(status == PFD_CORRUPT_DATA && got == 0);
                CHECK(stream ? err.row == -1 : err.row == bad % size);
                if (stream) MUST(pfd_dataset_seek(ds, 0, b + 1, &err));
            } else {
                CHECK(status == PFD_OK && got == size && records[0].ordinal == b * size);
            }
        }
        pfd_dataset_close(ds);
    }
}

static void test_refusals(void)
{
    pfd_record records[4];
    int32_t closed = 0;
    int64_t n;
    pfd_error err = {.struct_size = sizeof err};
    for (int stream = 0; stream < 2; stream++) {
        pfd_dataset *ds = open_source(stream, 5);
        ((source *)ds)->closed = &closed;
        CHECK(closed == stream);
        CHECK(pfd_dataset_seek(ds, -1, 0, &err) == PFD_INVALID_ARGUMENT);
        CHECK(pfd_dataset_seek(ds, 0, -1, &err) == PFD_INVALID_ARGUMENT);
        MUST(batch_wrap(&ds, 4, 0, 1, &err));
        CHECK(pfd_dataset_next(ds, 3, scratch, records, &n, &err) == PFD_INTERNAL && n == 0);
        MUST(pfd_dataset_next(ds, 4, scratch, records, &n, &err));
        pfd_dataset_close(ds);
        CHECK(closed == stream + 1);
    }
    pfd_dataset_close(NULL);
}

static void test_cancellation(int stream)
{
    _Atomic int32_t cancelled = 0;
    pfd_record records[8];
    int64_t n;
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(stream, 100);
    MUST(pfd_cancellation_wrap(&ds, &cancelled, &err));
    CHECK(pfd_dataset_is_random_access(ds) == !stream);
    MUST(shuffle(&ds, 1, "reader", 1, 10, &err));
    MUST(batch_wrap(&ds, 8, PFD_LAST_BATCH_SHORT, 1, &err));
    MUST(pfd_dataset_next(ds, 8, scratch, records, &n, &err));
    CHECK(n == 8);
    cancelled = 1;
    pfd_status status = PFD_OK;
    for (int i = 0; i < 10 && status == PFD_OK; i++) {
        status = pfd_dataset_next(ds, 8, scratch, records, &n, &err);
    }
    CHECK(status == PFD_CANCELLED && n == 0);
    if (stream) CHECK(pfd_dataset_seek(ds, 0, 3, &err) == PFD_CANCELLED);
    pfd_dataset_close(ds);
}

/* A failed next() costs one record, whether the source would give it when asked again or never. */
static void test_damaged_record_of_a_stream(int32_t bad_for)
{
    enum { n = 12, bad = 7 };
    _Atomic int32_t cancelled = 0;
    pfd_record records[n];
    pfd_error err = {.struct_size = sizeof err};
    int64_t got, next = 0;
    int failures = 0;
    pfd_dataset *ds = open_source(1, n);
    ((source *)ds)->bad = bad;
    ((source *)ds)->bad_for = bad_for;
    MUST(pfd_cancellation_wrap(&ds, &cancelled, &err));
    for (pfd_status status = PFD_OK; status != PFD_END;) {
        pfd_scratch_reset(scratch);
        status = pfd_dataset_next(ds, n, scratch, records, &got, &err);
        if (status == PFD_CORRUPT_DATA) {
            CHECK(next == bad && got == 0);
            failures++;
            next++;
        }
        for (int64_t i = 0; i < got; i++) CHECK(records[i].ordinal == next++);
    }
    CHECK(failures == 1 && next == n);
    MUST(pfd_dataset_seek(ds, 0, bad + 1, &err));
    MUST(pfd_dataset_next(ds, n, scratch, records, &got, &err));
    CHECK(records[0].ordinal == bad + 1);
    pfd_dataset_close(ds);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void *read_at(void *shared)
{
    pfd_dataset *ds = shared;
    pfd_scratch *own = pfd_scratch_create();
    pfd_error err = {.struct_size = sizeof err};
    int64_t wrong = 0;
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        for (int64_t step = 0; step < ds->methods->num_batches(ds); step++) {
            int64_t begin, end, positions[64];
            pfd_record records[64];
            ds->methods->batch(ds, 0, step, &begin, &end);
            for (int64_t i = begin; i < end; i++) positions[i - begin] = i;
            pfd_scratch_reset(own);
            pfd_status status =
                ds->methods->at(ds, epoch, positions, end - begin, own, records, &err);
            wrong += status != PFD_OK;
            for (int64_t i = 0; i < end - begin; i++) wrong += !is_whole(&records[i]);
        }
    }
    pfd_scratch_free(own);
    return wrong ? shared : NULL;
}

static void test_at_from_many_threads(void)
{
    pthread_t threads[4];
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(0, 1000);
    MUST(shuffle(&ds, 1, "reader", 1, 1, &err));
    MUST(batch_wrap(&ds, 64, PFD_LAST_BATCH_WRAP, 1, &err));
    MUST(pfd_distributed_training_wrap(&ds, 64, 1, 2, &err));
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, read_at, ds)) exit(1);
    }
    for (int i = 0; i < 4; i++) {
        void *wrong;
        (void)pthread_join(threads[i], &wrong);
        CHECK(!wrong);
    }
    pfd_dataset_close(ds);
}

int main(void)
{
    begin_tests();
    for (int stream = 0; stream < 2; stream++) {
        test_batches_and_ranks(stream);
        for (int32_t rule = PFD_LAST_BATCH_SHORT; rule <= PFD_LAST_BATCH_EVEN; rule++) {
            test_seek_to_every_batch(stream, 50, 7, rule);
            test_seek_to_every_batch(stream, 42, 7, rule);
            test_seek_to_every_batch(stream, 3, 7, rule);
            test_seek_to_every_batch(stream, 0, 7, rule);
        }
        test_wrap_over_several_epochs(stream);
        test_batches_after_a_failure(stream);
        test_cancellation(stream);
    }
    for (int32_t bad_for = -1; bad_for <= 1; bad_for += 2) {
        test_damaged_record_of_a_stream(bad_for);
    }
    test_at_is_pure();
    test_row_of_a_failure();
    test_failure_of_a_cursor();
    test_refusals();
    test_at_from_many_threads();
    return end_tests();
}
