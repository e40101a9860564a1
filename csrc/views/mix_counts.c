/* A binary tree of floors; see the header. */
#include "views/mix_counts.h"

#include "core/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 uint128;

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

void pfd_mix_find(const pfd_mix_tree *tree, int64_t start, const int64_t *base, int64_t *rows,
                  int64_t n, int32_t *sources)
{
    const uint64_t *fractions = tree->fractions;
    const int32_t *sources_of_leaves = tree->sources;
    const int32_t levels = tree->levels;
    for (int64_t i = 0; i < n; i++) {
        uint64_t row = (uint64_t)(rows[i] - start);
        size_t node = 1;
        for (int32_t level = 0; level < levels; level++) {
            uint128 product = (uint128)row * fractions[node];
            uint64_t left = (uint64_t)(product >> 64), rest = (uint64_t)product;
            /* The floor rises with the next row where adding f to the rest carries. No branches:
             * sides follow each other in no order that a processor could predict. */
            uint64_t is_right = rest + fractions[node] >= rest;
            uint64_t right_mask = UINT64_C(0) - is_right;
            row = ((row - left) & right_mask) | (left & ~right_mask);
            node = 2 * node + is_right;
        }
        int32_t source = sources_of_leaves[node - ((size_t)1 << levels)];
        rows[i] = (int64_t)row + base[source];
        sources[i] = source;
    }
}
