/* MixDataset: several data sets, drawn by weights.
 *
 * Row p of epoch e is row e * size + p of the run.  The schedule gives the source of a row, and the
 * number d of rows of that source before it in the run: the row is record d % N of the source's
 * epoch d / N, where N is the source's size.  So each repeat of a source has its own order,
 * and an epoch goes on where the last one ended.  The number of the source's epoch tells repeats
 * apart.  With random turns, block b of an epoch is permuted by number b of the epoch's key. */
#include "views/mix_dataset.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/random.h"
#include "core/search.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 uint128;

enum { first_exhausted, all_exhausted };       /* attr stop */
enum { regular_interleave, random_interleave }; /* attr interleave */

typedef struct mix_dataset_attrs {
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
} mix_dataset_attrs;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- The tree: floors, see the header -------------------------------------------------------- */

static int32_t bits_of(int64_t n) /* ceil(log2 n), n > 0 */
{
    int32_t bits = 0;
    while (INT64_C(1) << bits < n) bits++;
    return bits;
}

/* *used: weights above 0. */
static pfd_status check_weights(const double *weights, int64_t n, double *largest, int64_t *used,
                                pfd_error *err)
{
    *largest = 0;
    *used = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0) || !isfinite(weights[i]))
            return pfd_fail_attr(err, "weights", NULL, PFD_INVALID_ARGUMENT,
                                 ": that of source %" PRId64 " is %g; it must be finite, and at "
                                 "least 0",
                                 i, weights[i]);
        if (weights[i] > *largest) *largest = weights[i];
        *used += weights[i] > 0;
    }
    if (*largest == 0)
        return pfd_fail_attr(err, "weights", NULL, PFD_INVALID_ARGUMENT,
                             " of all sources are 0; one must be above 0");
    return PFD_OK;
}

/* sums[k]: the shares of the last k sources with a weight; used[k] is the one before them. */
static pfd_status sum_shares(const double *weights, int64_t n, uint64_t *sums, int32_t *used,
                             int64_t *num_used, pfd_error *err)
{
    double largest;
    int32_t exponent;
    PFD_TRY(check_weights(weights, n, &largest, num_used, err));
    (void)frexp(largest, &exponent); /* largest < 2^exponent */
    exponent = 63 - bits_of(*num_used) - exponent;
    int64_t next = 0;
    sums[0] = 0;
    for (int64_t i = n - 1; i >= 0; i--) {
        if (weights[i] == 0) continue;
        uint64_t share = (uint64_t)nearbyint(ldexp(weights[i], exponent));
        if (share == 0)
            return pfd_fail_attr(err, "weights", NULL, PFD_INVALID_ARGUMENT,
                                 ": that of source %" PRId64 " is %g, too small beside the "
                                 "largest, %g; use 0 for a source that is never drawn",
                                 i, weights[i], largest);
        sums[next + 1] = sums[next] + share;
        used[next++] = (int32_t)i;
    }
    return PFD_OK;
}

/* Makes `node`, above 2^height leaves, the tree of used[begin, end); half of them are on the left
 * side, rounded down, so that a side without sources is a left one. */
static void build(pfd_mix_tree *tree, int64_t node, int32_t height, const uint64_t *sums,
                  const int32_t *used, int64_t begin, int64_t end)
{
    if (height == 0) {
        int64_t leaf = node - (INT64_C(1) << tree->levels);
        tree->sources[leaf] = used[begin];
        tree->leaves[used[begin]] = (int32_t)leaf;
        return;
    }
    int64_t middle = begin + (end - begin) / 2;
    if (middle > begin) {
        uint64_t left = sums[middle] - sums[begin], total = sums[end] - sums[begin];
        /* Below 2^64: the right side has at least 1 of at most 2^63. */
        tree->fractions[node] = (uint64_t)((((uint128)left << 64) + total - 1) / total);
        build(tree, 2 * node, height - 1, sums, used, begin, middle);
    }
    build(tree, 2 * node + 1, height - 1, sums, used, middle, end);
}

pfd_status pfd_mix_tree_init(pfd_mix_tree *tree, const double *weights, int64_t num_sources,
                             pfd_error *err)
{
    *tree = (pfd_mix_tree){.num_sources = num_sources};
    size_t n = (size_t)num_sources;
    uint64_t *sums = malloc((n + 1) * sizeof *sums);
    int32_t *used = malloc(n * sizeof *used);
    tree->leaves = malloc(n * sizeof *tree->leaves);
    int64_t num_used = 0;
    pfd_status status = sums && used && tree->leaves
                            ? sum_shares(weights, num_sources, sums, used, &num_used, err)
                            : pfd_fail_memory(err, (int64_t)(n * 16), "the tree of a mix");
    if (status == PFD_OK) {
        tree->levels = bits_of(num_used);
        size_t leaves = (size_t)1 << tree->levels;
        tree->fractions = calloc(leaves, sizeof *tree->fractions);
        tree->sources = calloc(leaves, sizeof *tree->sources);
        for (size_t i = 0; i < n; i++) tree->leaves[i] = -1;
        if (tree->fractions && tree->sources)
            build(tree, 1, tree->levels, sums, used, 0, num_used);
        else status = pfd_fail_memory(err, (int64_t)(leaves * 12), "the tree of a mix");
    }
    free(sums);
    free(used);
    if (status != PFD_OK) pfd_mix_tree_free(tree);
    return status;
}

void pfd_mix_tree_free(pfd_mix_tree *tree)
{
    free(tree->fractions);
    free(tree->sources);
    free(tree->leaves);
    *tree = (pfd_mix_tree){0};
}

int64_t pfd_mix_count(const pfd_mix_tree *tree, int64_t source, int64_t n)
{
    int32_t leaf = tree->leaves[source];
    if (leaf < 0) return 0;
    uint64_t rows = (uint64_t)n;
    size_t node = 1;
    for (int32_t level = tree->levels - 1; level >= 0; level--) {
        size_t is_right = (size_t)leaf >> level & 1;
        uint64_t left = (uint64_t)((uint128)rows * tree->fractions[node] >> 64);
        rows = is_right ? rows - left : left;
        node = 2 * node + is_right;
    }
    return (int64_t)rows;
}

enum { walks_at_once = 4 };

/* Takes some rows down the tree, from its root to leaves.  A walk waits for each of its levels, and
 * others go on meanwhile. */
static inline void walk_down(const pfd_mix_tree *tree, uint64_t *rows, uint64_t *nodes)
{
    const uint64_t *fractions = tree->fractions;
    const int32_t levels = tree->levels;
    for (int32_t level = 0; level < levels; level++) {
#pragma GCC unroll 4
        for (int32_t k = 0; k < walks_at_once; k++) {
            uint64_t row = rows[k], fraction = fractions[nodes[k]];
            uint128 product = (uint128)row * fraction;
            uint64_t left = (uint64_t)(product >> 64), rest = (uint64_t)product;
            /* The floor rises with the next row where adding f to the rest carries. No branches:
             * sides follow each other in no order that a processor could predict. */
            uint64_t is_right = rest + fraction >= rest;
            uint64_t right_mask = UINT64_C(0) - is_right;
            rows[k] = ((row - left) & right_mask) | (left & ~right_mask);
            nodes[k] = 2 * nodes[k] + is_right;
        }
    }
}

static inline void find_some(const pfd_mix_tree *tree, int64_t start, const int64_t *base,
                             int64_t *rows, int64_t n, int32_t *sources)
{
    const uint64_t num_leaves = UINT64_C(1) << tree->levels;
    uint64_t walking[walks_at_once] = {0}, nodes[walks_at_once];
    for (int64_t k = 0; k < n; k++) walking[k] = (uint64_t)(rows[k] - start);
    for (int64_t k = 0; k < walks_at_once; k++) nodes[k] = 1;
    walk_down(tree, walking, nodes);
    for (int64_t k = 0; k < n; k++) {
        int32_t source = tree->sources[nodes[k] - num_leaves];
        rows[k] = (int64_t)walking[k] + base[source];
        sources[k] = source;
    }
}

void pfd_mix_find(const pfd_mix_tree *tree, int64_t start, const int64_t *base, int64_t *rows,
                  int64_t n, int32_t *sources)
{
    int64_t i = 0;
    for (; i + walks_at_once <= n; i += walks_at_once)
        find_some(tree, start, base, rows + i, walks_at_once, sources + i);
    find_some(tree, start, base, rows + i, n - i, sources + i);
}

/* ---- The schedule: segments, and the rows at which sources are exhausted --------------------- */

/* Moves the segments to other rows, in the same order. */
static void move_segments(pfd_mix_schedule *schedule, const int64_t *starts)
{
    for (int64_t i = 1; i < schedule->num_segments; i++) {
        const pfd_mix_segment *before = &schedule->segments[i - 1];
        pfd_mix_segment *segment = &schedule->segments[i];
        segment->start = starts[i - 1];
        for (int64_t s = 0; s < schedule->num_sources; s++)
            segment->base[s] = before->base[s] +
                               pfd_mix_count(&before->tree, s, segment->start - before->start);
    }
}

pfd_status pfd_mix_schedule_init(pfd_mix_schedule *schedule, const double *weights,
                                 const int64_t *starts, int64_t num_segments, int64_t num_sources,
                                 pfd_error *err)
{
    *schedule = (pfd_mix_schedule){.num_sources = num_sources};
    schedule->segments = calloc((size_t)num_segments, sizeof *schedule->segments);
    if (!schedule->segments)
        return pfd_fail_memory(err, num_segments * (int64_t)sizeof *schedule->segments,
                               "the segments of a mix");
    for (int64_t i = 0; i < num_segments; i++) {
        pfd_mix_segment *segment = &schedule->segments[schedule->num_segments++];
        segment->base = calloc((size_t)num_sources, sizeof *segment->base);
        if (!segment->base)
            return pfd_fail_memory(err, num_sources * (int64_t)sizeof *segment->base,
                                   "the segments of a mix");
        PFD_TRY(pfd_mix_tree_init(&segment->tree, weights + i * num_sources, num_sources, err));
    }
    move_segments(schedule, starts);
    return PFD_OK;
}

void pfd_mix_schedule_free(pfd_mix_schedule *schedule)
{
    for (int64_t i = 0; i < schedule->num_segments; i++) {
        pfd_mix_tree_free(&schedule->segments[i].tree);
        free(schedule->segments[i].base);
    }
    free(schedule->segments);
    *schedule = (pfd_mix_schedule){0};
}

/* The last segment that begins at `row` or before it. */
static int64_t segment_of(const pfd_mix_schedule *schedule, int64_t row)
{
    return pfd_last_at_most(&schedule->segments[0].start, (int64_t)sizeof(pfd_mix_segment), 0,
                            schedule->num_segments, row);
}

static int64_t end_of(const pfd_mix_schedule *schedule, int64_t i)
{
    return i + 1 < schedule->num_segments ? schedule->segments[i + 1].start : INT64_MAX;
}

int64_t pfd_mix_schedule_count(const pfd_mix_schedule *schedule, int64_t source, int64_t n)
{
    const pfd_mix_segment *segment = &schedule->segments[segment_of(schedule, n)];
    return segment->base[source] + pfd_mix_count(&segment->tree, source, n - segment->start);
}

void pfd_mix_schedule_find(const pfd_mix_schedule *schedule, int64_t *rows, int64_t n,
                           int32_t *sources)
{
    for (int64_t begin = 0, end; begin < n; begin = end) {
        int64_t i = segment_of(schedule, rows[begin]), stop = end_of(schedule, i);
        const pfd_mix_segment *segment = &schedule->segments[i];
        end = schedule->num_segments == 1 ? n : begin + 1;
        while (end < n && rows[end] >= segment->start && rows[end] < stop) end++;
        pfd_mix_find(&segment->tree, segment->start, segment->base, rows + begin, end - begin,
                     sources + begin);
    }
}

static int32_t none_is_overdrawn(const pfd_mix_schedule *schedule, const int64_t *records,
                                 int64_t n)
{
    for (int64_t s = 0; s < schedule->num_sources; s++)
        if (pfd_mix_schedule_count(schedule, s, n) > records[s]) return 0;
    return 1;
}

static int32_t all_are_exhausted(const pfd_mix_schedule *schedule, const int64_t *records,
                                 int64_t n)
{
    const pfd_mix_segment *last = &schedule->segments[schedule->num_segments - 1];
    for (int64_t s = 0; s < schedule->num_sources; s++)
        if (last->tree.leaves[s] >= 0 && pfd_mix_schedule_count(schedule, s, n) < records[s])
            return 0;
    return 1;
}

/* The largest n below PFD_MIX_MOST_ROWS at which the test gives what it gives at 0: counts never
 * fall, so it changes once. */
static int64_t last_unchanged(int32_t (*test)(const pfd_mix_schedule *, const int64_t *, int64_t),
                              const pfd_mix_schedule *schedule, const int64_t *records,
                              int32_t at_0)
{
    int64_t low = 0, high = PFD_MIX_MOST_ROWS;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (test(schedule, records, middle) == at_0) low = middle;
        else high = middle;
    }
    return low;
}

int64_t pfd_mix_schedule_first_exhausted(const pfd_mix_schedule *schedule, const int64_t *records)
{
    if (none_is_overdrawn(schedule, records, PFD_MIX_MOST_ROWS)) return PFD_MIX_MOST_ROWS;
    return last_unchanged(none_is_overdrawn, schedule, records, 1);
}

int64_t pfd_mix_schedule_all_exhausted(const pfd_mix_schedule *schedule, const int64_t *records)
{
    if (!all_are_exhausted(schedule, records, PFD_MIX_MOST_ROWS)) return -1;
    return last_unchanged(all_are_exhausted, schedule, records, 0) + 1;
}

uint64_t pfd_mix_schedule_past(const pfd_mix_schedule *schedule, int64_t n)
{
    uint64_t hash = 0;
    for (int64_t i = 0; i < schedule->num_segments; i++) {
        const pfd_mix_segment *segment = &schedule->segments[i];
        const pfd_mix_tree *tree = &segment->tree;
        if (segment->start >= n) break;
        if (segment->start == end_of(schedule, i)) continue; /* no rows */
        int64_t leaves = INT64_C(1) << tree->levels;
        hash = pfd_hash_word(hash, (uint64_t)segment->start);
        for (int64_t k = 1; k < leaves; k++) hash = pfd_hash_word(hash, tree->fractions[k]);
        for (int64_t s = 0; s < schedule->num_sources; s++)
            hash = pfd_hash_word(hash, (uint64_t)tree->leaves[s]);
    }
    return hash;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The records of a source, and what divides by their number. */
typedef struct divisor {
    uint64_t n, inverse; /* 2^64 / n, rounded down */
} divisor;

typedef struct mix {
    pfd_view base;
    pfd_view_args args;
    pfd_mix_schedule schedule;
    int64_t block_size, seed; /* block_size 1: regular */
    divisor sources[];
} mix;

static int64_t row_of(const mix *self, int64_t epoch, int64_t position)
{
    uint64_t row = (uint64_t)epoch * (uint64_t)self->base.size + (uint64_t)position;
    return (int64_t)(row & INT64_MAX); /* epochs of views around this one may be any number */
}

/* Permutes the positions of each block of an epoch. */
static void permute_blocks(const mix *self, const pfd_places *places)
{
    int64_t *positions = places->positions, keyed = -1;
    uint64_t key = 0; /* key of the epoch `keyed` */
    for (int64_t begin = 0, end; begin < places->n; begin = end) {
        int64_t epoch = places->epochs[begin], block = positions[begin] / self->block_size;
        int64_t first = block * self->block_size;
        int64_t rows = least(self->block_size, self->base.size - first);
        for (end = begin; end < places->n && places->epochs[end] == epoch; end++) {
            if (positions[end] < first || positions[end] - first >= rows) break;
            positions[end] -= first;
        }
        if (epoch != keyed) key = pfd_view_key(&self->args, self->seed, epoch);
        keyed = epoch;
        pfd_permutation permutation;
        pfd_permutation_init(&permutation, pfd_random_bits(key, (uint64_t)block), rows);
        pfd_permute(&permutation, positions + begin, end - begin, positions + begin);
        for (int64_t i = begin; i < end; i++) positions[i] += first;
    }
}

static void map(const pfd_view *view, const pfd_places *places)
{
    const mix *self = (const mix *)view;
    if (self->block_size > 1) permute_blocks(self, places);
    for (int64_t i = 0; i < places->n; i++)
        places->positions[i] = row_of(self, places->epochs[i], places->positions[i]);
    pfd_mix_schedule_find(&self->schedule, places->positions, places->n, places->sources);
    uint64_t counted = 0, draw_of_counted = 0; /* mostly all rows are of one epoch */
    for (int64_t i = 0; i < places->n; i++) {
        divisor by = self->sources[places->sources[i]];
        uint64_t draw = (uint64_t)places->positions[i];
        /* The inverse is less than 1 too small, and draw < 2^64: at most 1 is missing. */
        uint64_t epoch = (uint64_t)((uint128)draw * by.inverse >> 64), record = draw - epoch * by.n;
        uint64_t is_short = record >= by.n;
        epoch += is_short;
        places->epochs[i] = (int64_t)epoch;
        places->positions[i] = (int64_t)(record - (by.n & (0 - is_short)));
        if (places->draws[i] > 0) {
            pfd_view_count_draw(&places->draws[i], epoch);
            continue;
        }
        if (epoch != counted) {
            draw_of_counted = 0;
            pfd_view_count_draw(&draw_of_counted, epoch);
            counted = epoch;
        }
        places->draws[i] = draw_of_counted;
    }
}

static uint64_t past(const pfd_view *view, int64_t epoch, int64_t position)
{
    const mix *self = (const mix *)view;
    int64_t row = row_of(self, epoch, position);
    if (row == 0) return 0;
    uint64_t rows = pfd_mix_schedule_past(&self->schedule, row);
    return pfd_random_bits(rows, (uint64_t)self->base.size);
}

/* ---- Attrs ----------------------------------------------------------------------------------- */

static pfd_status check_segments(const mix_dataset_attrs *attrs, pfd_error *err)
{
    const pfd_list_int64 *segments = &attrs->segments;
    for (int64_t i = 1; i < segments->size; i++)
        if (segments->data[i] <= segments->data[i - 1])
            return pfd_fail_attr(err, "segments", NULL, PFD_INVALID_ARGUMENT,
                                 ": row %" PRId64 " follows row %" PRId64 "; rows must increase",
                                 segments->data[i], segments->data[i - 1]);
    int64_t expected = attrs->num_sources * (segments->size + 1), given = attrs->weights.size;
    if (given == expected || (given == 0 && segments->size == 0)) return PFD_OK;
    return pfd_fail_attr(err, "weights", NULL, PFD_INVALID_ARGUMENT,
                         ": there are %" PRId64 "; %" PRId64 " sources and %" PRId64
                         " changes need %" PRId64,
                         given, attrs->num_sources, segments->size, expected);
}

static pfd_status check_mean_lengths(const mix_dataset_attrs *attrs, pfd_error *err)
{
    const pfd_list_float64 *lengths = &attrs->mean_lengths;
    if (lengths->size > 0 && lengths->size != attrs->num_sources)
        return pfd_fail_attr(err, "mean_lengths", NULL, PFD_INVALID_ARGUMENT,
                             ": there are %" PRId64 " for %" PRId64 " sources", lengths->size,
                             attrs->num_sources);
    for (int64_t i = 0; i < lengths->size; i++)
        if (!(lengths->data[i] > 0) || !isfinite(lengths->data[i]))
            return pfd_fail_attr(err, "mean_lengths", NULL, PFD_INVALID_ARGUMENT,
                                 ": that of source %" PRId64 " is %g; it must be finite, and above "
                                 "0",
                                 i, lengths->data[i]);
    return PFD_OK;
}

static pfd_status check_repeats(const mix_dataset_attrs *attrs, pfd_error *err)
{
    const pfd_list_float64 *repeats = &attrs->max_repeats;
    if (repeats->size > 0 && repeats->size != attrs->num_sources)
        return pfd_fail_attr(err, "max_repeats", NULL, PFD_INVALID_ARGUMENT,
                             ": there are %" PRId64 " for %" PRId64 " sources", repeats->size,
                             attrs->num_sources);
    for (int64_t i = 0; i < repeats->size; i++)
        if (!(repeats->data[i] >= 0) || !isfinite(repeats->data[i]))
            return pfd_fail_attr(err, "max_repeats", NULL, PFD_INVALID_ARGUMENT,
                                 ": that of source %" PRId64 " is %g; it must be finite, and above "
                                 "0, or 0 for no limit",
                                 i, repeats->data[i]);
    return PFD_OK;
}

/* Weights of records, for each segment; *out is to be freed. */
static pfd_status make_weights(const mix_dataset_attrs *attrs, double **out, pfd_error *err)
{
    int64_t n = attrs->num_sources * (attrs->segments.size + 1);
    double *weights = malloc((size_t)n * sizeof *weights);
    if (!weights) return pfd_fail_memory(err, n * (int64_t)sizeof *weights, "the weights of a mix");
    for (int64_t i = 0; i < n; i++) {
        weights[i] = attrs->weights.size > 0 ? attrs->weights.data[i] : 1;
        if (attrs->mean_lengths.size > 0)
            weights[i] /= attrs->mean_lengths.data[i % attrs->num_sources];
    }
    *out = weights;
    return PFD_OK;
}

static pfd_status check_names(const mix_dataset_attrs *attrs, pfd_error *err)
{
    int64_t named = attrs->source_names.size;
    if (named == 0 || named == attrs->num_sources) return PFD_OK;
    return pfd_fail_attr(err, "source_names", NULL, PFD_INVALID_ARGUMENT,
                         ": there are %" PRId64 " for %" PRId64 " sources", named,
                         attrs->num_sources);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const mix_dataset_attrs *attrs = args->attrs;
    PFD_TRY(pfd_choice_infer(args, attrs->num_sources, err));
    PFD_TRY(check_segments(attrs, err));
    PFD_TRY(check_mean_lengths(attrs, err));
    PFD_TRY(check_repeats(attrs, err));
    PFD_TRY(check_names(attrs, err));
    double *weights = NULL;
    PFD_TRY(make_weights(attrs, &weights, err));
    pfd_status status = PFD_OK;
    for (int64_t i = 0; status == PFD_OK && i <= attrs->segments.size; i++) {
        pfd_mix_tree tree;
        status = pfd_mix_tree_init(&tree, weights + i * attrs->num_sources, attrs->num_sources,
                                   err);
        if (status == PFD_OK) pfd_mix_tree_free(&tree);
    }
    free(weights);
    return status;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void close_view(pfd_view *view)
{
    pfd_mix_schedule_free(&((mix *)view)->schedule);
    free(view);
}

static const pfd_view_methods methods = {
    .name = "MixDataset", .close = close_view, .map = map, .past = past};

static pfd_status fail_empty(const mix *self, int64_t source, pfd_error *err)
{
    const mix_dataset_attrs *attrs = self->args.attrs;
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "source %" PRId64 "%s%s has no records, and a weight above 0", source,
                    attrs->source_names.size > 0 ? ", " : "",
                    attrs->source_names.size > 0 ? attrs->source_names.data[source] : "");
}

static pfd_status find_sources(mix *self, int64_t *records, pfd_error *err)
{
    const pfd_mix_schedule *schedule = &self->schedule;
    for (int64_t s = 0; s < schedule->num_sources; s++) {
        records[s] = self->args.inner[s]->size;
        self->sources[s].n = (uint64_t)records[s];
        if (records[s] > 0) {
            uint128 inverse = ((uint128)1 << 64) / self->sources[s].n;
            self->sources[s].inverse = inverse > UINT64_MAX ? UINT64_MAX : (uint64_t)inverse;
            continue;
        }
        for (int64_t i = 0; i < schedule->num_segments; i++)
            if (schedule->segments[i].tree.leaves[s] >= 0) return fail_empty(self, s, err);
    }
    return PFD_OK;
}

/* The rows from which the sets of weights hold: as given, or the first row of the next block. */
static void find_starts(const mix *self, const pfd_list_int64 *segments, int64_t *out)
{
    for (int64_t i = 0; i < segments->size; i++) {
        int64_t row = segments->data[i], epoch = row / self->base.size;
        int64_t position = row % self->base.size;
        int64_t rest = position % self->block_size;
        if (rest > 0) position = least(self->base.size, position + self->block_size - rest);
        out[i] = epoch * self->base.size + position;
    }
}

/* ---- The size of an epoch, and limits of its records ----------------------------------------- */

/* The most records of each source that an epoch may have; no limit: INT64_MAX. */
static pfd_status find_limits(const mix_dataset_attrs *attrs, const int64_t *records,
                              int64_t *limits, pfd_error *err)
{
    for (int64_t s = 0; s < attrs->num_sources; s++) {
        double repeats = attrs->max_repeats.size > 0 ? attrs->max_repeats.data[s] : 0;
        double limit = floor(repeats * (double)records[s]);
        int32_t has_limit = repeats > 0 && limit < (double)PFD_MIX_MOST_ROWS;
        limits[s] = has_limit ? (int64_t)limit : INT64_MAX;
        if (limits[s] == 0 && records[s] > 0)
            return pfd_fail_attr(err, "max_repeats", NULL, PFD_INVALID_ARGUMENT,
                                 ": that of source %" PRId64 " is %g, which allows none of its "
                                 "%" PRId64 " records",
                                 s, repeats, records[s]);
    }
    return PFD_OK;
}

static pfd_status find_size(mix *self, const mix_dataset_attrs *attrs, const int64_t *records,
                            const int64_t *limits, pfd_error *err)
{
    const pfd_mix_schedule *schedule = &self->schedule;
    int32_t has_limits = attrs->max_repeats.size > 0;
    if (attrs->length > 0) {
        self->base.size = attrs->length;
        return PFD_OK;
    }
    int64_t most = pfd_mix_schedule_first_exhausted(schedule, has_limits ? limits : records);
    int64_t all = attrs->stop == all_exhausted
                      ? pfd_mix_schedule_all_exhausted(schedule, records) : most;
    if (!has_limits) most = all;
    self->base.size = all >= 0 ? least(all, most) : most;
    if (self->base.size > 0 && !(has_limits && self->base.size == PFD_MIX_MOST_ROWS)) return PFD_OK;
    if (has_limits)
        return pfd_fail_attr(err, "max_repeats", NULL, PFD_INVALID_ARGUMENT,
                             " limits no source that is drawn, so that an epoch would have no end; "
                             "give a length");
    return pfd_fail_attr(err, "stop", NULL, PFD_INVALID_ARGUMENT,
                         " = all_exhausted would need more than %" PRId64
                         " rows with these weights; give a length",
                         PFD_MIX_MOST_ROWS);
}

/* A source whose share of an epoch would be above its limit has the limit as its share: that is
 * fixed[s], or -1.  The others divide the rest by their weights, which may bring one of them to its
 * limit.  *rest, *sum: records and weights of the others. */
static void take_limits(const double *weights, const int64_t *limits, int64_t *fixed, int64_t n,
                        int64_t length, double *rest, double *sum)
{
    for (int64_t s = 0; s < n; s++) fixed[s] = -1;
    for (int32_t is_changed = 1; is_changed;) {
        is_changed = 0;
        *rest = (double)length;
        *sum = 0;
        for (int64_t s = 0; s < n; s++) {
            if (fixed[s] >= 0) *rest -= (double)fixed[s];
            else *sum += weights[s];
        }
        for (int64_t s = 0; s < n; s++) {
            if (fixed[s] >= 0 || !(weights[s] > 0)) continue;
            if (weights[s] * *rest / *sum <= (double)limits[s]) continue;
            fixed[s] = limits[s];
            is_changed = 1;
        }
    }
}

/* Replaces the weights of a segment by the records that an epoch has of each source.  They are
 * whole and add up to the epoch, so that the tree's floors have no rest where an epoch ends: each
 * epoch of one set of weights has exactly these numbers, while rows * length <= 2^64. */
static pfd_status limit_weights(double *weights, const int64_t *limits, int64_t *fixed, int64_t n,
                                int64_t length, pfd_error *err)
{
    double rest, sum, shared = 0, given = 0;
    take_limits(weights, limits, fixed, n, length, &rest, &sum);
    if (sum == 0 && rest > 0)
        return pfd_fail_attr(err, "max_repeats", NULL, PFD_INVALID_ARGUMENT,
                             ": an epoch has at most %.0f records, and length = %" PRId64
                             "; allow more repeats, or give a smaller length",
                             (double)length - rest, length);
    for (int64_t s = 0; s < n; s++) {
        if (fixed[s] >= 0) weights[s] = (double)fixed[s];
        if (fixed[s] >= 0 || weights[s] == 0) continue;
        double share = weights[s] * rest / sum;
        if (share < 1)
            return pfd_fail_attr(err, "weights", NULL, PFD_INVALID_ARGUMENT,
                                 ": source %" PRId64 " would have less than one record of an epoch "
                                 "of %" PRId64 "; with max_repeats a source that is drawn has one "
                                 "or more",
                                 s, length);
        shared += share;
        weights[s] = floor(shared + 0.5) - given;
        given += weights[s];
    }
    return PFD_OK;
}

/* ---- Opening the view ------------------------------------------------------------------------ */

/* `room`: for the rows of segments, then the sizes of sources, their limits, and their fixed
 * shares. */
static pfd_status open_schedule(mix *self, const mix_dataset_attrs *attrs, double *weights,
                                int64_t *room, pfd_error *err)
{
    const int64_t n = attrs->num_sources, num_segments = attrs->segments.size + 1;
    int64_t *starts = room, *records = room + attrs->segments.size, *limits = records + n;
    self->base.size = PFD_MIX_MOST_ROWS; /* until it is known: rows of the first epoch decide it */
    find_starts(self, &attrs->segments, starts);
    PFD_TRY(pfd_mix_schedule_init(&self->schedule, weights, starts, num_segments, n, err));
    PFD_TRY(find_sources(self, records, err));
    PFD_TRY(find_limits(attrs, records, limits, err));
    PFD_TRY(find_size(self, attrs, records, limits, err));
    find_starts(self, &attrs->segments, starts);
    if (attrs->length == 0 || attrs->max_repeats.size == 0) {
        move_segments(&self->schedule, starts);
        return PFD_OK;
    }
    for (int64_t i = 0; i < num_segments; i++)
        PFD_TRY(limit_weights(weights + i * n, limits, limits + n, n, attrs->length, err));
    pfd_mix_schedule_free(&self->schedule);
    return pfd_mix_schedule_init(&self->schedule, weights, starts, num_segments, n, err);
}

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const mix_dataset_attrs *attrs = args->attrs;
    mix *self;
    size_t n = (size_t)attrs->num_sources, bytes = sizeof *self + n * sizeof *self->sources;
    PFD_TRY(pfd_view_create(bytes, &methods, &self, err));
    self->args = *args;
    self->block_size = attrs->interleave == random_interleave ? attrs->block_size : 1;
    self->seed = attrs->seed;
    double *weights = NULL;
    int64_t *room = malloc((3 * n + (size_t)attrs->segments.size) * sizeof *room);
    pfd_status status = room ? make_weights(attrs, &weights, err)
                             : pfd_fail_memory(err, (int64_t)(3 * n * sizeof *room), "a mix");
    if (status == PFD_OK) status = open_schedule(self, attrs, weights, room, err);
    free(room);
    free(weights);
    return pfd_view_opened(status, self, out);
}

/* ---- Descriptor ------------------------------------------------------------------------------ */

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(mix_dataset_attrs),
    PFD_NUM_SOURCES_ATTR(mix_dataset_attrs),
    PFD_ATTR_ROW_WITH(mix_dataset_attrs, weights, PFD_ATTR_LIST_FLOAT64, "", 0, 0, NULL,
                      "How often each source is drawn, relative to the others; with segments, "
                      "another set of weights follows for each segment. If left out, all sources "
                      "have the same weight.",
                      PFD_NOT_IN_SPEC),
    PFD_ATTR_ROW_WITH(mix_dataset_attrs, segments, PFD_ATTR_LIST_INT64, "", 1,
                      (double)PFD_MIX_MOST_ROWS, NULL,
                      "The rows from which the second and later sets of weights hold, counted over "
                      "all epochs.",
                      PFD_NOT_IN_SPEC),
    PFD_FLOATS_ATTR(mix_dataset_attrs, mean_lengths, "", 0, 0,
                    "The mean length of each source's records, for example in tokens. Weights are "
                    "then for tokens, and a record's weight is its source's weight divided by the "
                    "mean length. If left out, weights are for records."),
    PFD_ATTR_ROW_WITH(mix_dataset_attrs, max_repeats, PFD_ATTR_LIST_FLOAT64, "", 0, 0, NULL,
                      "How many times at most an epoch has all records of each source; 0: no "
                      "limit. Without length, an epoch ends before a source would be drawn more "
                      "often. With length, such a source has the number of records that its limit "
                      "allows, and the other sources share the rest of the epoch by their weights. "
                      "If left out, there is no limit.",
                      PFD_NOT_IN_SPEC),
    PFD_CHOICE_ATTR(mix_dataset_attrs, stop, "first_exhausted", "first_exhausted|all_exhausted",
                    "Where an epoch without a length ends: before a source would repeat the "
                    "records of its first epoch, or when each source has been drawn completely."),
    PFD_INT_ATTR(mix_dataset_attrs, length, "0", 0, (double)PFD_MIX_MOST_ROWS,
                 "The number of rows in an epoch; 0: as many as stop says."),
    PFD_CHOICE_ATTR(mix_dataset_attrs, interleave, "regular", "regular|random",
                    "Whether the sources take turns as evenly as possible, or in random order "
                    "within blocks that have the same counts."),
    PFD_INT_ATTR(mix_dataset_attrs, block_size, "1024", 2, 2147483648.0,
                 "Rows of a block, with random interleave; weights change where a block begins."),
    PFD_SEED_ATTR(mix_dataset_attrs),
    PFD_ATTR_ROW_WITH(mix_dataset_attrs, source_names, PFD_ATTR_LIST_STRING, "", 0, 0, NULL,
                      "Names of the sources, for messages.", PFD_NOT_IN_SPEC),
};

static const pfd_op mix_dataset = {
    PFD_VIEW_OP_WITH(mix_dataset_attrs, attr_table, pfd_choice_inputs, pfd_view_outputs, infer),
    .name = "MixDataset",
    .doc = "Draws records from several data sets with the same fields, by weights. Among the first "
           "n rows, for any n, the number of rows from a source differs from its exact share by "
           "less than log2 of the number of sources, rounded up. A source that is drawn beyond its "
           "end begins its next epoch. Each epoch of the mix continues in every source where the "
           "previous epoch ended.",
};

const pfd_view_op pfd_view_mix_dataset = {&mix_dataset, PFD_VIEW_CHOICE, open_view, "mix"};
