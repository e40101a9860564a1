/* Lanes: whatever the sizes, the positions of an epoch go through each lane once and in its order,
 * the records of all lanes together are all records, and reading ahead asks for what is read. */
#include "core/random.h"
#include "dataset/shuffle.h"
#include "fake_dataset.h"

enum { most_records = 3000 };

/* Each lane's places come in order, as many in a batch of one lane as of another, and end
 * together. */
static int deals_in_turn(const pfd_lanes *lanes)
{
    static int64_t next[most_records];
    int64_t rows = lanes->rows;
    memset(next, 0, sizeof next);
    for (int64_t position = 0; position < lanes->n;) {
        pfd_lane_run run = pfd_lanes_find(lanes, position);
        if (run.lane < 0 || run.lane >= lanes->num_lanes || run.count < 1) return 0;
        if (run.place != next[run.lane] || run.count > rows) return 0;
        for (int64_t i = 0; i < run.count; i++) { /* from its middle, it is the same run */
            pfd_lane_run again = pfd_lanes_find(lanes, position + i);
            if (again.lane != run.lane || again.place != run.place + i ||
                again.count != run.count - i)
                return 0;
        }
        int64_t batch_size = rows * lanes->num_lanes, row = position % batch_size;
        if (position / batch_size < lanes->n / batch_size && run.lane != row / rows) return 0;
        next[run.lane] += run.count;
        position += run.count;
    }
    for (int64_t lane = 0; lane < lanes->num_lanes && lane < most_records; lane++)
        if (next[lane] != pfd_lanes_size(lanes, lane)) return 0;
    return 1;
}

static int has_every_record_once(const pfd_lanes *lanes)
{
    static int64_t numbers[most_records];
    static uint8_t seen[most_records];
    memset(seen, 0, sizeof seen);
    int64_t total = 0;
    for (int64_t lane = 0; lane < lanes->num_lanes; lane++) {
        int64_t size = pfd_lanes_size(lanes, lane);
        for (int64_t i = 0; i < size; i++) numbers[i] = i;
        pfd_lanes_to_ordinals(lanes, lane, numbers, size);
        for (int64_t i = 0; i < size; i++)
            if (numbers[i] < 0 || numbers[i] >= lanes->n || seen[numbers[i]]++) return 0;
        total += size;
    }
    return total == lanes->n;
}

static void test_small_sizes(void)
{
    for (uint64_t i = 0; i < 2000; i++) {
        int64_t n = i < 1500 ? (int64_t)i % 150 + 1 : pfd_random_below(1, i, most_records) + 1;
        int64_t num_lanes = pfd_random_below(2, i, i % 3 ? 9 : 200) + 1;
        int64_t block_size = pfd_random_below(3, i, i % 5 ? 30 : 2000) + 1;
        int64_t rows = pfd_random_below(4, i, i % 7 ? 12 : 500) + 1;
        pfd_lanes lanes;
        pfd_lanes_init(&lanes, i, n, num_lanes, block_size, num_lanes * rows);
        CHECK(deals_in_turn(&lanes));
        CHECK(has_every_record_once(&lanes));
    }
}

/* Sizes too large to try all: a lane's whole blocks are whole, and no place is that of another. */
static void test_large(int64_t n, int64_t num_lanes, int64_t block_size, int64_t rows)
{
    pfd_lanes lanes;
    pfd_lanes_init(&lanes, 5, n, num_lanes, block_size, num_lanes * rows);
    int64_t whole = (n - 1) / block_size / num_lanes, ok = 1;
    for (uint64_t s = 0; s < 500; s++) {
        int64_t lane = pfd_random_below(6, s, num_lanes), begin = 0;
        int64_t ends[] = {pfd_random_below(7, s, whole) * block_size, 0};
        ends[1] = ends[0] + block_size - 1;
        pfd_lanes_to_ordinals(&lanes, lane, ends, 2);
        ok &= ends[0] % block_size == 0 && ends[1] - ends[0] == block_size - 1 && ends[1] < n;
        int64_t last = pfd_lanes_size(&lanes, lane) - 1;
        ok &= last - whole * block_size < block_size;
        pfd_lanes_to_ordinals(&lanes, lane, &last, 1);
        ok &= last >= 0 && last < n;
        int64_t position = pfd_random_below(8, s, n);
        pfd_lane_run run = pfd_lanes_find(&lanes, position), next = {.lane = -1};
        begin = position + run.count;
        if (begin < n) next = pfd_lanes_find(&lanes, begin);
        ok &= begin == n || next.lane == (run.lane + 1) % num_lanes;
        ok &= begin == n || next.place == run.place + run.count - (next.lane ? next.count : 0) ||
              begin / (num_lanes * rows) == n / (num_lanes * rows);
    }
    CHECK(ok);
}

/* What is read ahead of a window is what the window's positions lead to. */
static int asks_for_what_is_read(const pfd_dataset *ds, int64_t epoch, int64_t lane)
{
    static pfd_record_range ranges[most_records + 1];
    static uint8_t asked[most_records], read_of[most_records];
    const pfd_lanes *lanes = pfd_window_lanes(ds);
    pfd_window_order order;
    pfd_record_range span;
    pfd_window_lanes_order(ds, epoch, lane, &order);
    for (int64_t place = 0; place < order.n; place = span.end) {
        memset(asked, 0, sizeof asked);
        memset(read_of, 0, sizeof read_of);
        int64_t count = pfd_window_order_blocks(&order, place, &span, 0, most_records, ranges);
        int64_t with_extra = pfd_window_lanes_ranges(lanes, lane, ranges, count);
        if (with_extra < count || with_extra > count + 1) return 0;
        for (int64_t i = 0; i < with_extra; i++)
            for (int64_t k = ranges[i].begin; k < ranges[i].end; k++) asked[k]++;
        for (int64_t i = span.begin; i < span.end; i++) {
            int64_t ordinal = i;
            pfd_window_order_map(&order, &ordinal, 1, &ordinal);
            pfd_lanes_to_ordinals(lanes, lane, &ordinal, 1);
            read_of[ordinal]++;
        }
        if (memcmp(asked, read_of, sizeof asked) != 0) return 0;
    }
    return 1;
}

static void test_dataset(int64_t n, int64_t block_size, int64_t window, int64_t num_lanes,
                         int64_t batch_size)
{
    static epoch_rows first, again;
    pfd_error err = {.struct_size = sizeof err};
    pfd_dataset *ds = open_source(0, n);
    CHECK(pfd_window_lanes(ds) == NULL && pfd_window_lanes(NULL) == NULL);
    MUST(pfd_window_lanes_wrap(&ds, 7, "reader", 1, block_size, window, num_lanes, batch_size,
                               &err));
    read_on(ds, 13, &first);
    CHECK(is_exact(&first, n));
    for (int64_t p = 0; p < n; p += 37) {
        read_epoch(ds, 0, p, 1500, &again);
        CHECK(again.rows == n - p && same_rows(&again, 0, &first, p, n - p));
    }
    for (int64_t lane = 0; lane < num_lanes; lane++) CHECK(asks_for_what_is_read(ds, 3, lane));
    pfd_dataset_close(ds);
}

int main(void)
{
    begin_tests();
    test_small_sizes();
    test_large(INT64_C(1000000000000), 64, 1000, 16);
    test_large(INT64_C(1000000000007), 7, 256, 3);
    test_large((INT64_C(1) << 62) - 5, 1000, 61, 1);
    test_dataset(1000, 7, 5, 4, 32);
    test_dataset(1003, 50, 3, 8, 8);
    test_dataset(40, 50, 3, 8, 16);
    test_dataset(1, 3, 3, 2, 2);
    return end_tests();
}
