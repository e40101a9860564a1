/* The view of a mix over sources that only have a size: rows, epochs, blocks, changes, refusals. */
#include "check.h"

#include "core/error.h"
#include "core/random.h"
#include "dataset/view.h"

#include <string.h>

extern const pfd_view_op pfd_view_mix_dataset;

enum { most_sources = 8, most_rows = 20000 };

/* The attrs of the op, in the order of its table. */
typedef struct mix_attrs {
    pfd_list_string fields;
    int64_t num_sources;
    pfd_list_float64 weights;
    pfd_list_int64 segments;
    pfd_list_float64 mean_lengths, max_repeats;
    int32_t stop;
    int64_t length;
    int32_t interleave;
    int64_t block_size, seed;
    pfd_list_string source_names;
} mix_attrs;

static const pfd_view_methods fake_methods = {.name = "Fake"};

static pfd_error err = {.struct_size = sizeof err};
static int64_t loader_seed = 5;

static void test_the_struct_is_that_of_the_op(void)
{
    static const uint32_t offsets[] = {
        offsetof(mix_attrs, fields),       offsetof(mix_attrs, num_sources),
        offsetof(mix_attrs, weights),      offsetof(mix_attrs, segments),
        offsetof(mix_attrs, mean_lengths), offsetof(mix_attrs, max_repeats),
        offsetof(mix_attrs, stop),         offsetof(mix_attrs, length),
        offsetof(mix_attrs, interleave),   offsetof(mix_attrs, block_size),
        offsetof(mix_attrs, seed),         offsetof(mix_attrs, source_names)};
    const pfd_op *op = pfd_view_mix_dataset.op;
    REQUIRE(op->num_attrs == PFD_COUNT(offsets) && op->attrs_struct_size == sizeof(mix_attrs));
    for (uint32_t i = 0; i < op->num_attrs; i++) CHECK(op->attrs[i].offset == offsets[i]);
}

/* Opens a mix over sources of `sizes`, which are valid until it is closed. */
static pfd_status open_mix(const mix_attrs *attrs, const int64_t *sizes, pfd_view **out)
{
    static pfd_view sources[most_sources];
    static pfd_view *inner[most_sources];
    for (int64_t s = 0; s < attrs->num_sources; s++) {
        sources[s] = (pfd_view){.methods = &fake_methods, .size = sizes[s]};
        inner[s] = &sources[s];
    }
    pfd_view_args args = {.attrs = attrs, .inner = inner, .seed = &loader_seed, .name = "mix",
                          .num_inner = (int32_t)attrs->num_sources};
    return pfd_view_mix_dataset.open(&args, out, &err);
}

/* Where rows of the run end up. */
static struct {
    int64_t epochs[most_rows], positions[most_rows];
    uint64_t draws[most_rows];
    int32_t sources[most_rows];
} rows;

/* Rows [0, n) of the run, mapped in calls of up to `at_once`. */
static void map_rows(const pfd_view *view, int64_t n, int64_t at_once)
{
    int64_t size = view->size;
    for (int64_t i = 0; i < n; i++) {
        rows.epochs[i] = i / size;
        rows.positions[i] = i % size;
        rows.draws[i] = 0;
        rows.sources[i] = -1;
    }
    for (int64_t i = 0; i < n; i += at_once) {
        pfd_places places = {n - i < at_once ? n - i : at_once, rows.epochs + i,
                             rows.positions + i, rows.draws + i, rows.sources + i};
        view->methods->map(view, &places);
    }
}

/* Every record of a source once in each of its epochs, which follow each other; in order of rows
 * where `in_order`. */
static void check_repeats(const int64_t *sizes, int64_t num_sources, int64_t n, int32_t in_order)
{
    static uint8_t seen[most_sources][most_rows * 2];
    int64_t counts[most_sources] = {0};
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < n; i++) {
        int32_t s = rows.sources[i];
        REQUIRE(s >= 0 && s < num_sources);
        REQUIRE(rows.positions[i] >= 0 && rows.positions[i] < sizes[s]);
        int64_t draw = rows.epochs[i] * sizes[s] + rows.positions[i];
        REQUIRE(draw >= 0 && draw < most_rows * 2);
        CHECK(!seen[s][draw]);
        seen[s][draw] = 1;
        CHECK((rows.draws[i] != 0) == (rows.epochs[i] > 0));
        if (in_order) CHECK(draw == counts[s]);
        counts[s]++;
    }
    for (int64_t s = 0; s < num_sources; s++)
        for (int64_t d = 0; d < counts[s] - 64; d++) CHECK(seen[s][d]);
}

static void test_rows_go_on_over_epochs(void)
{
    const double weights[] = {3, 1, 2};
    const int64_t sizes[] = {10, 1, 7};
    mix_attrs attrs = {.num_sources = 3, .weights = {weights, 3}, .length = 100, .seed = -1};
    pfd_view *view;
    REQUIRE(open_mix(&attrs, sizes, &view) == PFD_OK);
    CHECK(view->size == 100);
    map_rows(view, 1000, 1000);
    check_repeats(sizes, 3, 1000, 1);
    int64_t counts[3] = {0};
    for (int64_t i = 0; i < 600; i++) counts[rows.sources[i]]++;
    CHECK(counts[0] == 300 && counts[1] == 100 && counts[2] == 200);
    pfd_view_close(view);
}

static void test_stops(void)
{
    const double weights[] = {3, 1};
    const int64_t sizes[] = {30, 20};
    mix_attrs attrs = {.num_sources = 2, .weights = {weights, 2}};
    pfd_view *view;
    REQUIRE(open_mix(&attrs, sizes, &view) == PFD_OK);
    CHECK(view->size == 40); /* 40 - floor(40 / 4) is 30, and of 41 it is 31 */
    pfd_view_close(view);
    attrs.stop = 1;
    REQUIRE(open_mix(&attrs, sizes, &view) == PFD_OK);
    CHECK(view->size == 80); /* floor(80 / 4) is 20 */
    pfd_view_close(view);
}

static void test_weights_of_tokens(void)
{
    const double weights[] = {1, 1}, lengths[] = {100, 300};
    const int64_t sizes[] = {1000, 1000};
    mix_attrs attrs = {.num_sources = 2, .weights = {weights, 2}, .mean_lengths = {lengths, 2},
                       .length = 400};
    pfd_view *view;
    REQUIRE(open_mix(&attrs, sizes, &view) == PFD_OK);
    map_rows(view, 400, 64);
    int64_t first = 0;
    for (int64_t i = 0; i < 400; i++) first += rows.sources[i] == 0;
    CHECK(first >= 299 && first <= 301);
    pfd_view_close(view);
}

static void test_random_blocks_keep_counts(void)
{
    const double weights[] = {3, 1, 4};
    const int64_t sizes[] = {100, 30, 400};
    mix_attrs attrs = {.num_sources = 3, .weights = {weights, 3}, .length = 300, .interleave = 1,
                       .block_size = 64, .seed = -1};
    pfd_view *regular, *view;
    static int32_t in_turn[3000], in_order[3000];
    attrs.interleave = 0;
    REQUIRE(open_mix(&attrs, sizes, &regular) == PFD_OK);
    map_rows(regular, 3000, 3000);
    memcpy(in_turn, rows.sources, sizeof in_turn);
    pfd_view_close(regular);

    attrs.interleave = 1;
    REQUIRE(open_mix(&attrs, sizes, &view) == PFD_OK);
    map_rows(view, 3000, 3000);
    check_repeats(sizes, 3, 3000, 0);
    memcpy(in_order, rows.sources, sizeof in_order);
    int64_t excess[3] = {0}, moved = 0, orders = 0;
    for (int64_t i = 0; i < 3000; i++) {
        int64_t in_epoch = i % 300;
        if (in_epoch % 64 == 0) CHECK(excess[0] == 0 && excess[1] == 0 && excess[2] == 0);
        excess[rows.sources[i]]++;
        excess[in_turn[i]]--;
        moved += rows.sources[i] != in_turn[i];
        if (i >= 300) orders += rows.sources[i] != rows.sources[i - 300];
    }
    CHECK(moved > 900 && orders > 800); /* another order in each epoch: 59 % would be others */
    map_rows(view, 3000, 7);
    CHECK(!memcmp(in_order, rows.sources, sizeof in_order));
    loader_seed = 6;
    map_rows(view, 3000, 3000);
    CHECK(memcmp(in_order, rows.sources, sizeof in_order) != 0);
    pfd_view_close(view);
    loader_seed = 5;
}

/* Changed weights leave the rows before them as they were, and past() says whether they did. */
static void test_changes(void)
{
    const double before[] = {3, 1, /**/ 1, 1}, after[] = {3, 1, /**/ 1, 1, /**/ 0, 1};
    const int64_t sizes[] = {50, 70}, changes[] = {130, 500};
    for (int32_t interleave = 0; interleave < 2; interleave++) {
        static int64_t former[2000];
        mix_attrs attrs = {.num_sources = 2, .weights = {before, 4}, .segments = {changes, 1},
                           .length = 300, .interleave = interleave, .block_size = 64, .seed = 1};
        /* With blocks, the one with row 500 ends first: row 200 of the epoch is in [192, 256). */
        int64_t change = interleave ? 300 + 256 : 500;
        pfd_view *view;
        REQUIRE(open_mix(&attrs, sizes, &view) == PFD_OK);
        map_rows(view, 1000, 100);
        for (int64_t i = 0; i < 1000; i++)
            former[i] = rows.sources[i] * 1000000 + rows.epochs[i] * 1000 + rows.positions[i];
        uint64_t same = view->methods->past(view, 1, change - 300);
        uint64_t other = view->methods->past(view, 1, change - 299);
        CHECK(view->methods->past(view, 0, 0) == 0);
        pfd_view_close(view);

        attrs.weights = (pfd_list_float64){after, 6};
        attrs.segments.size = 2;
        REQUIRE(open_mix(&attrs, sizes, &view) == PFD_OK);
        map_rows(view, 1000, 100);
        check_repeats(sizes, 2, 1000, !interleave);
        for (int64_t i = 0; i < change; i++)
            CHECK(former[i] ==
                  rows.sources[i] * 1000000 + rows.epochs[i] * 1000 + rows.positions[i]);
        for (int64_t i = change; i < 1000; i++) CHECK(rows.sources[i] == 1);
        CHECK(view->methods->past(view, 1, change - 300) == same);
        CHECK(view->methods->past(view, 1, change - 299) != other);
        pfd_view_close(view);

        attrs.length = 301;
        REQUIRE(open_mix(&attrs, sizes, &view) == PFD_OK);
        CHECK(view->methods->past(view, 1, change - 300) != same);
        pfd_view_close(view);
    }
}

static void test_refusals(void)
{
    const double weights[] = {1, 1}, little[] = {1, 0x1p-55};
    const int64_t sizes[] = {3, 0}, long_sizes[] = {3, 1 << 20};
    mix_attrs attrs = {.num_sources = 2, .weights = {weights, 2}};
    pfd_view *view = NULL;
    CHECK(open_mix(&attrs, sizes, &view) == PFD_INVALID_ARGUMENT);
    CHECK(strstr(err.message, "source 1 has no records"));
    attrs.weights.data = little;
    attrs.stop = 1;
    CHECK(open_mix(&attrs, long_sizes, &view) == PFD_INVALID_ARGUMENT);
    CHECK(strstr(err.message, "give a length"));
    CHECK(view == NULL);
}

static pfd_status infer_mix(const mix_attrs *attrs, const pfd_row_type *inputs, int64_t n)
{
    pfd_row_type outputs[4];
    pfd_infer_args args = {PFD_SIZE(args), .attrs = attrs, .inputs = inputs, .outputs = outputs,
                           .num_inputs = n, .num_outputs = n / attrs->num_sources};
    return pfd_view_mix_dataset.op->infer(&args, &err);
}

static void test_what_is_refused_when_it_is_built(void)
{
    const pfd_row_type types[] = {{.dtype = PFD_INT64}, {.dtype = PFD_INT64}, {.dtype = PFD_INT32}};
    const double weights[] = {1, 1, 1, 0, 0}, lengths[] = {1, 0};
    const int64_t same[] = {5, 5};
    mix_attrs good = {.num_sources = 2, .weights = {weights, 4}, .segments = {same, 1}};
    CHECK(infer_mix(&good, types, 2) == PFD_OK);
    struct {
        mix_attrs attrs;
        const char *words;
    } wrong[] = {
        {{.num_sources = 2, .weights = {weights, 3}}, "2 sources and 0 changes need 2"},
        {{.num_sources = 2, .weights = {weights, 0}, .segments = {same, 1}}, "there are 0"},
        {{.num_sources = 2, .weights = {weights, 5}, .segments = {same, 2}}, "must increase"},
        {{.num_sources = 2, .weights = {weights + 3, 2}}, "are 0; one must be above 0"},
        {{.num_sources = 2, .mean_lengths = {lengths, 1}}, "there are 1 for 2 sources"},
        {{.num_sources = 2, .mean_lengths = {lengths, 2}}, "source 1 is 0; it must be"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(infer_mix(&wrong[i].attrs, types, 2) == PFD_INVALID_ARGUMENT);
        check(strstr(err.message, wrong[i].words) != NULL, wrong[i].words, err.message, __FILE__,
              __LINE__);
    }
    CHECK(infer_mix(&good, types + 1, 2) == PFD_INVALID_ARGUMENT);
    CHECK(strstr(err.message, "source 0 has int64") && strstr(err.message, "source 1 has int32"));
}

int main(void)
{
    test_the_struct_is_that_of_the_op();
    test_rows_go_on_over_epochs();
    test_stops();
    test_weights_of_tokens();
    test_random_blocks_keep_counts();
    test_changes();
    test_refusals();
    test_what_is_refused_when_it_is_built();
    return report();
}
