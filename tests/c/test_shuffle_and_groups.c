/* Datasets that keep records back: RandomShuffle and GroupBatch, against plain models. */
#include "core/random.h"
#include "fake_dataset.h"

/* ---- Shuffling ------------------------------------------------------------------------------- */

static void test_shuffle(int stream, int64_t n, int64_t buffer_size)
{
    static epoch_rows first, again, other;
    pfd_error err = {.struct_size = sizeof err};
    for (int32_t reshuffle = 0; reshuffle < 2; reshuffle++) {
        pfd_dataset *ds = open_source(stream, n), *twin = open_source(stream, n);
        MUST(shuffle(&ds, 7, "reader", reshuffle, buffer_size, &err));
        MUST(shuffle(&twin, 7, "reader", reshuffle, buffer_size, &err));
        read_on(ds, 13, &first);
        CHECK(is_exact(&first, n));
        read_epoch(twin, 0, 0, 3, &again); /* in other pieces */
        CHECK(again.rows == first.rows && same_rows(&first, 0, &again, 0, n));
        read_epoch(ds, 1, 0, 13, &other);
        CHECK(is_exact(&other, n));
        if (n >= 30 && buffer_size > 10) {
            CHECK(reshuffle != same_rows(&first, 0, &other, 0, n));
        }
        for (int64_t p = 0; p <= n && n < 100; p++) {
            read_epoch(ds, 0, p, 5, &again);
            CHECK(again.rows == n - p && same_rows(&again, 0, &first, p, n - p));
        }
        pfd_dataset_close(ds);
        pfd_dataset_close(twin);
    }
}

static void test_shuffle_by_key(int stream)
{
    static epoch_rows a, b, c;
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *x = open_source(stream, 60), *y = open_source(stream, 60);
    pfd_dataset *z = open_source(stream, 60);
    MUST(shuffle(&x, 1, "left", 0, 100, &err));
    MUST(shuffle(&y, 1, "right", 0, 100, &err));
    MUST(shuffle(&z, 2, "left", 0, 100, &err));
    read_on(x, 60, &a);
    read_on(y, 60, &b);
    read_on(z, 60, &c);
    CHECK(!same_rows(&a, 0, &b, 0, 60) && !same_rows(&a, 0, &c, 0, 60));
    pfd_dataset_close(x);
    pfd_dataset_close(y);
    pfd_dataset_close(z);
}

/* A record cannot leave the buffer before it came in, and a buffer of one keeps the order. */
static void test_shuffle_buffer_reach(void)
{
    static epoch_rows rows;
    pfd_error err = {.struct_size = sizeof err};
    for (int64_t buffer = 1; buffer <= 70; buffer += 23) {
        pfd_dataset *ds = open_source(1, 500);
        MUST(shuffle(&ds, 3, "reader", 1, buffer, &err));
        read_on(ds, 64, &rows);
        int ok = is_exact(&rows, 500);
        for (int64_t i = 0; i < 500; i++) ok &= rows.ordinals[i] < i + buffer;
        CHECK(ok);
        for (int64_t i = 0; i < 500 && buffer == 1; i++) CHECK(rows.ordinals[i] == i);
        pfd_dataset_close(ds);
    }
}

/* The last place of a full drain holds every record about equally often. */
static void test_drain_is_even(void)
{
    enum { n = 8, epochs = 4000 };
    static epoch_rows rows;
    int64_t counts[n][n] = {{0}};
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(1, n);
    MUST(shuffle(&ds, 1, "reader", 1, n, &err));
    for (int64_t e = 0; e < epochs; e++) {
        read_epoch(ds, e, 0, n, &rows);
        for (int64_t i = 0; i < n; i++) counts[i][rows.ordinals[i]]++;
    }
    for (int64_t i = 0; i < n; i++) {
        double chi_square = 0, expected = (double)epochs / n;
        for (int64_t k = 0; k < n; k++) {
            double off = (double)counts[i][k] - expected;
            chi_square += off * off / expected;
        }
        CHECK(chi_square < 30); /* 7 degrees of freedom: p = 0.0001 */
    }
    pfd_dataset_close(ds);
}

/* A damaged record costs the caller the position at which it came up, and nothing behind it: the
 * order is that of the records that are whole, for reading on as for any later seek. */
static void test_damaged_record_under_a_shuffle(void)
{
    enum { n = 90, bad = 55, buffer = 20, room = 16 };
    _Atomic int32_t cancelled = 0;
    static epoch_rows got, rest;
    static pfd_record records[room];
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(1, n);
    ((source *)ds)->bad = bad;
    MUST(pfd_cancellation_wrap(&ds, &cancelled, &err));
    MUST(shuffle(&ds, 3, "reader", 1, buffer, &err));
    int failures = 0;
    got.rows = 0;
    for (pfd_status status = PFD_OK; status != PFD_END && failures < 2;) {
        int64_t count;
        pfd_scratch_reset(scratch);
        status = pfd_dataset_next(ds, room, scratch, records, &count, &err);
        if (status == PFD_CORRUPT_DATA) {
            CHECK(got.rows == bad - buffer);
            failures++;
            got.ordinals[got.rows++] = bad; /* whatever is there */
            MUST(pfd_dataset_seek(ds, 0, got.rows, &err));
        }
        for (int64_t i = 0; i < count; i++) got.ordinals[got.rows++] = records[i].ordinal;
    }
    CHECK(failures == 1 && got.rows == n - 1);
    for (int64_t at = bad; at < n - 1; at += 7) {
        read_epoch(ds, 0, at, room, &rest);
        int ok = rest.rows == n - 1 - at;
        for (int64_t i = 0; ok && i < rest.rows; i++) {
            ok = got.ordinals[at + i] == rest.ordinals[i] && rest.ordinals[i] != bad;
        }
        CHECK(ok);
    }
    pfd_dataset_close(ds);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

typedef struct grouping {
    int64_t groups;
    int64_t bad; /* ordinal without a group; -1: none */
} grouping;

static int64_t group_of(const grouping *by, int64_t ordinal)
{
    return (int64_t)pfd_random_below(11, (uint64_t)ordinal, by->groups) * 1000003 - 5000;
}

static pfd_status group_by(const void *ctx, const pfd_record *record, int64_t *group,
                           pfd_error *err)
{
    const grouping *by = ctx;
    CHECK(is_whole(record));
    if (record->ordinal == by->bad) return pfd_fail(err, PFD_CORRUPT_DATA, "no group");
    *group = group_of(by, record->ordinal);
    return PFD_OK;
}

/* Quadratic and plain: the waiting records are one list in order of arrival. */
static void model_group_batches(int64_t n, int64_t size, int32_t rule, int64_t buffer,
                                const grouping *by, epoch_rows *out)
{
    static int64_t waiting[MOST_ROWS];
    int64_t num_waiting = 0;
    out->rows = out->batches = 0;
    for (int64_t i = 0; i < n || num_waiting > 0; i++) {
        int64_t out_group, in_group = 0;
        if (i < n) {
            waiting[num_waiting++] = i;
            out_group = group_of(by, i);
            for (int64_t k = 0; k < num_waiting; k++) {
                in_group += group_of(by, waiting[k]) == out_group;
            }
            if (in_group < size && num_waiting <= buffer) continue;
            if (in_group < size) out_group = group_of(by, waiting[0]);
        } else {
            if (rule == PFD_LAST_BATCH_DROP) return;
            out_group = group_of(by, waiting[0]);
        }
        int64_t kept = 0, first = out->rows;
        for (int64_t k = 0; k < num_waiting; k++) {
            if (group_of(by, waiting[k]) == out_group) {
                out->fillers[out->rows] = 0;
                out->ordinals[out->rows++] = waiting[k];
            } else {
                waiting[kept++] = waiting[k];
            }
        }
        num_waiting = kept;
        int32_t fill = rule == PFD_LAST_BATCH_PAD || rule == PFD_LAST_BATCH_WRAP;
        while (fill && out->rows - first < size) {
            out->fillers[out->rows] = 1;
            out->ordinals[out->rows] = out->ordinals[out->rows - 1];
            out->rows++;
        }
        out->ends[out->batches++] = out->rows;
    }
}

static void test_group_batches(int stream, int64_t n, int64_t groups, int64_t size, int64_t buffer)
{
    static epoch_rows expected, got, part;
    const grouping by = {.groups = groups, .bad = -1};
    pfd_error err = {.struct_size = sizeof err};
    for (int32_t rule = PFD_LAST_BATCH_SHORT; rule <= PFD_LAST_BATCH_WRAP; rule++) {
        model_group_batches(n, size, rule, buffer, &by, &expected);
        pfd_dataset *ds = open_source(stream, n);
        MUST(pfd_group_batch_wrap(&ds, size, rule, buffer, group_by, &by, &err));
        CHECK(!pfd_dataset_is_random_access(ds));
        read_on(ds, size, &got);
        CHECK(same_epoch(&expected, &got));
        if (rule != PFD_LAST_BATCH_DROP) CHECK(is_exact(&got, n));
        for (int64_t b = expected.batches; b >= 0; b -= 1 + expected.batches / 20) {
            static pfd_record passing[8];
            int64_t rows; /* leaves in the middle of an epoch */
            MUST(pfd_dataset_seek(ds, 0, expected.batches / 2, &err));
            (void)pfd_dataset_next(ds, size, scratch, passing, &rows, &err);
            read_epoch(ds, 1, b, size, &got);
            int64_t row = begin_of(&expected, b);
            CHECK(got.batches == expected.batches - b && got.rows == expected.rows - row &&
                  same_rows(&got, 0, &expected, row, got.rows));
        }
        MUST(pfd_distributed_training_wrap(&ds, size, 1, 3, &err));
        read_epoch(ds, 0, 0, size, &got);
        model_rank(&expected, 1, 3, &part);
        CHECK(same_epoch(&part, &got));
        pfd_dataset_close(ds);
    }
}

/* A record without a group costs one call, and a replay counts it the same way. */
static void test_record_without_group(int stream)
{
    enum { n = 30, size = 2 };
    const grouping by = {.groups = 3, .bad = 17};
    static pfd_record records[size];
    int64_t calls = 0, rows = 0, bad_call = -1, got, after_bad = -1;
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(stream, n);
    MUST(pfd_group_batch_wrap(&ds, size, PFD_LAST_BATCH_SHORT, 100, group_by, &by, &err));
    MUST(pfd_distributed_training_wrap(&ds, size, 0, 1, &err));
    for (;; calls++) {
        pfd_status status = pfd_dataset_next(ds, size, scratch, records, &got, &err);
        if (status == PFD_END) break;
        if (bad_call >= 0 && after_bad < 0) after_bad = records[0].ordinal;
        rows += got;
        if (status == PFD_OK) continue;
        CHECK(status == PFD_CORRUPT_DATA && bad_call < 0 && got == 0 && err.row == -1 &&
              !strcmp(err.message, "no group"));
        bad_call = calls;
    }
    CHECK(rows == n - 1 && bad_call > 0);
    MUST(pfd_dataset_seek(ds, 0, bad_call + 1, &err));
    MUST(pfd_dataset_next(ds, size, scratch, records, &got, &err));
    CHECK(records[0].ordinal == after_bad);
    pfd_dataset_close(ds);
}

/* What was passed over on the way is no failure of the call that got there. */
static void test_success_leaves_no_error(void)
{
    enum { n = 60, size = 5 };
    const grouping by = {.groups = 3, .bad = 17};
    pfd_record records[size];
    int64_t got;
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(1, n);
    ((source *)ds)->bad = 20;
    const _Atomic int32_t cancelled = 0;
    MUST(pfd_cancellation_wrap(&ds, &cancelled, &err));
    MUST(pfd_shuffle_buffer_wrap(&ds, 3, "reader", 1, 8, &err));
    for (int64_t position = 0; position < n - 1; position++) {
        pfd_error_clear(&err);
        MUST(pfd_dataset_seek(ds, 0, position, &err));
        CHECK(err.status == PFD_OK);
    }
    MUST(pfd_group_batch_wrap(&ds, size, PFD_LAST_BATCH_SHORT, 100, group_by, &by, &err));
    MUST(pfd_dataset_seek(ds, 0, 9, &err));
    CHECK(err.status == PFD_OK);
    pfd_dataset_close(ds);

    /* Memory that is enough for some records, but not for all that were asked for. */
    const pfd_bounds bounds = {.most_bytes = 128};
    pfd_scratch *small = pfd_scratch_create();
    pfd_scratch_set_bounds(small, &bounds);
    ds = open_source(1, n);
    MUST(pfd_shuffle_buffer_wrap(&ds, 3, "reader", 1, 1, &err));
    int32_t was_short = 0;
    for (int64_t done = 0; done < n; done += got) {
        pfd_scratch_reset(small);
        pfd_error_clear(&err);
        MUST(pfd_dataset_next(ds, size, small, records, &got, &err));
        CHECK(err.status == PFD_OK);
        was_short |= got < size;
    }
    CHECK(was_short);
    pfd_dataset_close(ds);
    pfd_scratch_free(small);
}

int main(void)
{
    begin_tests();
    for (int stream = 0; stream < 2; stream++) {
        for (int64_t n = 0; n <= 40; n += 4) test_shuffle(stream, n, 12);
        test_shuffle(stream, 700, 128);
        test_shuffle(stream, 3000, 100000);
        test_shuffle_by_key(stream);
        for (int64_t buffer = 1; buffer <= 40; buffer += 3) {
            for (int64_t size = 1; size <= 7; size += 2) {
                test_group_batches(stream, 60, 5, size, buffer);
            }
        }
        test_group_batches(stream, 0, 1, 4, 4);
        test_group_batches(stream, 700, 300, 3, 500); /* the table grows */
        test_group_batches(stream, 700, 1, 8, 10);
        test_record_without_group(stream);
    }
    test_shuffle_buffer_reach();
    test_drain_is_even();
    test_damaged_record_under_a_shuffle();
    test_success_leaves_no_error();
    return end_tests();
}
