/* The order that is random within windows of blocks: a bijection at any size, and what it promises
 * about its blocks. */
#include "core/random.h"
#include "dataset/shuffle.h"
#include "fake_dataset.h"

static int64_t map_one(const pfd_window_order *order, int64_t position)
{
    pfd_window_order_map(order, &position, 1, &position);
    return position;
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* ---- Small orders, whole -----------------------------------------------------------------------
 */

enum { most_records = 5000, most_blocks = 4096 };

/* The windows follow each other, and what a window maps to is what its blocks have: of a bijection
 * it is enough that no record comes from another window's block. */
static int holds_its_blocks(const pfd_window_order *order, const int64_t *mapped)
{
    static pfd_record_range blocks[most_blocks];
    static int64_t window_of[most_records];
    int64_t num_blocks = 0;
    for (int64_t position = 0, number = 1; position < order->n; number++) {
        pfd_record_range span;
        int64_t count = pfd_window_order_blocks(order, position, &span, 0, most_blocks, blocks);
        int64_t records = 0;
        if (span.begin != position || count > order->window) return 0;
        for (int64_t i = 0; i < count; i++)
            for (int64_t k = blocks[i].begin; k < blocks[i].end; k++, records++)
                window_of[k] = number;
        if (records != span.end - span.begin) return 0;
        for (; position < span.end; position++)
            if (window_of[mapped[position]] != number) return 0;
        num_blocks += count;
    }
    memset(window_of, 0, sizeof window_of);
    return num_blocks == (order->n + order->block_size - 1) / order->block_size;
}

static int is_bijection(uint64_t key, int64_t n, int64_t block_size, int64_t window)
{
    static int64_t mapped[most_records];
    static uint8_t seen[most_records];
    pfd_window_order order;
    pfd_window_order_init(&order, key, n, block_size, window);
    for (int64_t i = 0; i < n; i++) mapped[i] = i;
    pfd_window_order_map(&order, mapped, n, mapped);
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < n; i++) {
        if (mapped[i] < 0 || mapped[i] >= n || seen[mapped[i]]++) return 0;
    }
    return holds_its_blocks(&order, mapped);
}

static void test_every_small_size(void)
{
    static const int64_t settings[][3] = {/* the last one: up to how many records */
                                          {7, 5, 2000},    {16, 4, 2000}, {100, 3, 2000},
                                          {1500, 2, 2000}, {1, 1, 200},   {1, 7, 200},
                                          {3, 1, 200},     {50, 100, 200}};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
        for (int64_t n = 0; n <= settings[s][2]; n += n < 300 ? 1 : 7)
            CHECK(is_bijection((uint64_t)n % 5, n, settings[s][0], settings[s][1]));
}

static void test_random_settings(void)
{
    for (uint64_t i = 0; i < 500; i++) {
        int64_t n = pfd_random_below(1, i, i % 10 ? 500 : most_records) + 1;
        int64_t block_size = pfd_random_below(2, i, i % 2 ? 40 : 6000) + 1;
        int64_t window = pfd_random_below(3, i, i % 3 ? 40 : 6000) + 1;
        CHECK(is_bijection(i, n, block_size, window));
    }
    CHECK(is_bijection(1, 4000, 1, PFD_MOST_WINDOW_RECORDS));
    CHECK(is_bijection(1, 4999, PFD_MOST_WINDOW_RECORDS, 1));
    CHECK(is_bijection(1, 4999, 32768, 65536));
}

/* Whoever changes one of these numbers changes the order of every user's training. */
static void test_golden(void)
{
    static const int64_t twenty[] = {/* blocks of 3 in windows of 2 */
                                     7, 16, 17, 8, 6,  15, 4, 3,  9,  11,
                                     5, 10, 0,  1, 19, 18, 2, 13, 14, 12};
    static const int64_t positions[] = {0, 1, INT64_C(499999999999), INT64_C(999999999999)};
    static const int64_t ordinals[] = {INT64_C(355098635528), INT64_C(252903984106),
                                       INT64_C(97936321756), INT64_C(135409578760)};
    pfd_window_order order;
    uint64_t key = pfd_random_key(7, 0, "MiniReader_0");
    pfd_window_order_init(&order, key, 20, 3, 2);
    for (int64_t i = 0; i < 20; i++) CHECK(map_one(&order, i) == twenty[i]);
    pfd_window_order_init(&order, key, INT64_C(1000000000000), 1000, 300);
    for (int i = 0; i < 4; i++) CHECK(map_one(&order, positions[i]) == ordinals[i]);
}

/* Any positions in any order, also with two orders in turn and repeats, give what each gives alone.
 */
static void test_calls_are_independent(void)
{
    enum { n = 3000, count = 700 };
    pfd_window_order orders[3];
    static int64_t in[count], out[count];
    pfd_window_order_init(&orders[0], 1, n, 7, 20);
    pfd_window_order_init(&orders[1], 2, n, 7, 20);
    pfd_window_order_init(&orders[2], 1, n, 7, 21);
    for (uint64_t round = 0; round < 60; round++) {
        const pfd_window_order *order = &orders[round % 3];
        int64_t first = pfd_random_below(5, round, n - count);
        for (int64_t i = 0; i < count; i++)
            in[i] = round % 2 ? first + i : pfd_random_below(round, (uint64_t)i, n);
        pfd_window_order_map(order, in, count, out);
        int ok = 1;
        for (int64_t i = 0; i < count; i++) {
            pfd_window_order again;
            pfd_window_order_init(&again, round % 3 == 1 ? 2 : 1, n, 7, round % 3 == 2 ? 21 : 20);
            ok &= map_one(&again, in[i]) == out[i];
        }
        CHECK(ok);
        pfd_window_order_map(order, in, count, in);
        CHECK(!memcmp(in, out, sizeof in));
    }
}

/* ---- Orders too large to try all ---------------------------------------------------------------
 */

/* Windows at both ends, around the last block and here and there: they tile the positions, no two
 * have a block in common, and those at the ends and every sixth are permutations of their
 * blocks. */
static void test_large(int64_t n, int64_t block_size, int64_t window)
{
    enum { samples = 60, most = 1 << 16 };
    static int64_t firsts[samples * most_blocks], mapped[most], expected[most];
    static pfd_record_range blocks[most_blocks];
    pfd_window_order order;
    pfd_window_order_init(&order, pfd_random_key(1, 2, "large"), n, block_size, window);
    int64_t num_firsts = 0, ok = 1;
    int64_t last = order.last_slot * block_size, begins[samples], num_begins = 0;
    for (uint64_t s = 0; s < samples; s++) {
        int64_t at = s == 0 ? 0 : s == 1 ? n - 1 : s == 2 ? last : pfd_random_below(3, s, n);
        pfd_record_range span, next;
        int64_t count = pfd_window_order_blocks(&order, at, &span, 0, most_blocks, blocks);
        ok &= span.begin <= at && at < span.end && span.end <= n && count > 0;
        (void)pfd_window_order_blocks(&order, span.end, &next, 0, 0, blocks);
        ok &= next.begin == span.end && (s != 1 || span.end == n);
        int64_t is_new = 1;
        for (int64_t b = 0; b < num_begins; b++) is_new &= begins[b] != span.begin;
        if (!is_new) continue;
        begins[num_begins++] = span.begin;
        int64_t records = 0;
        qsort(blocks, (size_t)count, sizeof *blocks, compare); /* by their first members */
        for (int64_t i = 0; i < count; i++) {
            ok &= blocks[i].begin % block_size == 0 && blocks[i].end <= n;
            firsts[num_firsts++] = blocks[i].begin;
            for (int64_t k = blocks[i].begin; k < blocks[i].end; k++) expected[records++] = k;
        }
        ok &= records == span.end - span.begin;
        if (s > 2 && s % 6) continue; /* sorting takes most of the time of this test */
        for (int64_t i = 0; i < records; i++) mapped[i] = span.begin + i;
        pfd_window_order_map(&order, mapped, records, mapped);
        qsort(mapped, (size_t)records, sizeof *mapped, compare);
        ok &= !memcmp(mapped, expected, (size_t)records * sizeof *mapped);
    }
    qsort(firsts, (size_t)num_firsts, sizeof *firsts, compare);
    for (int64_t i = 1; i < num_firsts; i++) ok &= firsts[i - 1] != firsts[i];
    CHECK(ok && num_firsts > 0);
}

/* ---- The dataset -------------------------------------------------------------------------------
 */

static void test_dataset(int64_t n)
{
    static epoch_rows first, again, other;
    pfd_error err = {.struct_size = sizeof err};
    for (int32_t reshuffle = 0; reshuffle < 2; reshuffle++) {
        pfd_dataset *ds = open_source(0, n);
        MUST(pfd_window_shuffle_wrap(&ds, 7, "reader", reshuffle, 7, 5, &err));
        read_on(ds, 13, &first);
        CHECK(is_exact(&first, n));
        read_epoch(ds, 0, 0, 1500, &again);
        CHECK(again.rows == first.rows && same_rows(&first, 0, &again, 0, n));
        read_epoch(ds, 1, 0, 13, &other);
        CHECK(is_exact(&other, n));
        CHECK(n < 30 || reshuffle != same_rows(&first, 0, &other, 0, n));
        for (int64_t p = 0; p <= n && n < 100; p++) {
            read_epoch(ds, 0, p, 5, &again);
            CHECK(again.rows == n - p && same_rows(&again, 0, &first, p, n - p));
        }
        pfd_window_order order;
        pfd_window_shuffle_order(ds, 0, &order);
        for (int64_t p = 0; p < n; p++) CHECK(map_one(&order, p) == first.ordinals[p]);
        pfd_dataset_close(ds);
    }
}

static void test_a_failure_tells_its_row(void)
{
    enum { n = 3000, bad = 1234 };
    static pfd_record records[n];
    static int64_t positions[n];
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(0, n);
    MUST(pfd_window_shuffle_wrap(&ds, 7, "reader", 1, 7, 500, &err));
    pfd_window_order order;
    pfd_window_shuffle_order(ds, 3, &order);
    int64_t at = 0;
    while (map_one(&order, at) != bad) at++;
    ((source *)ds->inner)->bad = bad;
    for (int64_t i = 0; i < n; i++) positions[i] = i;
    CHECK(ds->methods->at(ds, 3, positions, n, scratch, records, &err) == PFD_CORRUPT_DATA);
    CHECK(err.row == at);
    pfd_dataset_close(ds);
}

int main(void)
{
    begin_tests();
    test_every_small_size();
    test_random_settings();
    test_golden();
    test_calls_are_independent();
    test_large(INT64_C(100000000), 256, 100);
    test_large(INT64_C(100000007), 100, 500);
    test_large(INT64_C(1000000000000), 1000, 64);
    test_large(INT64_C(1000000000001), 7, 4096);
    test_large(INT64_C(1) << 62, 61, 1000);
    for (int64_t n = 0; n < 40; n++) test_dataset(n);
    test_dataset(1000);
    test_a_failure_tells_its_row();
    return end_tests();
}
