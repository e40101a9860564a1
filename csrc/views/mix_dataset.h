/* views/mix_dataset.h -- how often each of several sources was drawn, by weights that may change at
 * some rows, as a function of the number of rows.
 *
 * Rows are those of the run: they are counted on over the epochs.
 *
 * OWNERSHIP  Trees and schedules own their arrays.
 * THREADS    init and free: one thread.  The rest: any number of threads.
 */
#ifndef PFD_VIEWS_MIX_DATASET_H
#define PFD_VIEWS_MIX_DATASET_H
#include "pyflowdata/op.h"

/* ---- The tree of one set of weights -------------------------------------------------------------
 *
 * The sources are the leaves of a binary tree, the first one rightmost, so that of two with equal
 * weights the first is drawn first.  Of the first n rows of a node, the left side has
 *
 *     floor(n * f), f = L / T rounded up to a multiple of 2^-64,
 *
 * where L and T are the weights of the left side and of the node, and the right side has the rest.
 * So the counts of all sources are known at every n, by one product of 64 by 64 bits a level, and
 * they add up to n.  A row is the left side's where floor(n * f) rises from n to n + 1: that is the
 * inverse, at the same cost.  There is no state.
 *
 * BOUND  Of n rows, a source has its exact share give or take less than (1 + n * 2^-64) for each
 * level, of which there are ceil(log2 S) for S sources with a weight.  Proof: let d be the
 * difference at a node, 0 at the root.  Of the node's m rows, the left side has floor(m * f), where
 * f differs from L / T by at most 2^-64: its difference is d * L / T give or take less than
 * 1 + m * 2^-64, and that of the right side, which has the rest, is d * (T - L) / T give or take as
 * much.  Both factors are below 1.  For whole weights the rounding of f changes nothing while
 * n * T <= 2^64 (Granlund and Montgomery: Division by invariant integers, 1994): 3 and 1 give the
 * second source exactly floor(n / 4).
 *
 * SHARES  Weights are doubles.  All are multiplied by the power of two that brings the largest to
 * [2^(62 - b), 2^(63 - b)), b = ceil(log2 S), and rounded to whole numbers, ties to even.  A double
 * has 53 bits, so a weight keeps all of them where it is at least 2^(b - 10) of the largest; a
 * smaller one is off by at most 2^(b - 62) of the largest. */

typedef struct pfd_mix_tree {
    int64_t num_sources;
    int32_t levels;
    int32_t *sources;    /* source of each of the 2^levels leaves */
    int32_t *leaves;     /* leaf of each source; -1: its weight is 0 */
    uint64_t *fractions; /* f * 2^64 of node k > 0, whose sides are the nodes 2 k and 2 k + 1;
                            where only the right side has sources, 0 */
} pfd_mix_tree;

/* PFD_INVALID_ARGUMENT: a weight is negative or not finite, all weights are 0, or the share of a
 * weight above 0 would be 0.  A failure leaves nothing to be freed. */
pfd_status pfd_mix_tree_init(pfd_mix_tree *tree, const double *weights, int64_t num_sources,
                             pfd_error *err);

void pfd_mix_tree_free(pfd_mix_tree *tree); /* accepts a zeroed one */

/* How many of the first n rows are of a source. */
int64_t pfd_mix_count(const pfd_mix_tree *tree, int64_t source, int64_t n);

/* Replaces each row, counted from `start`, by base[source] and the number of rows of its source
 * before it; sources[i] is the source of row i. */
void pfd_mix_find(const pfd_mix_tree *tree, int64_t start, const int64_t *base, int64_t *rows,
                  int64_t n, int32_t *sources);

/* ---- The schedule: segments of weights ----------------------------------------------------------
 *
 * A segment is the rows from one change of weights to the next.  Within it the tree of its weights
 * decides; what was drawn before is carried over, so no record is lost or repeated by a change.
 * Each segment adds to the deviation of a source the bound of its tree. */

typedef struct pfd_mix_segment {
    int64_t start; /* row */
    pfd_mix_tree tree;
    int64_t *base; /* records of each source drawn before `start` */
} pfd_mix_segment;

typedef struct pfd_mix_schedule {
    pfd_mix_segment *segments;
    int64_t num_segments, num_sources;
} pfd_mix_schedule;

/* weights: num_sources for each segment.  starts: of all segments but the first, which begins at 0;
 * never decreasing.  A failure leaves a schedule that can be freed. */
pfd_status pfd_mix_schedule_init(pfd_mix_schedule *schedule, const double *weights,
                                 const int64_t *starts, int64_t num_segments, int64_t num_sources,
                                 pfd_error *err);

void pfd_mix_schedule_free(pfd_mix_schedule *schedule); /* accepts a zeroed one */

/* How many of the first n rows are of a source. */
int64_t pfd_mix_schedule_count(const pfd_mix_schedule *schedule, int64_t source, int64_t n);

/* Replaces each row by the number of rows of its source before it; sources[i] is the source. */
void pfd_mix_schedule_find(const pfd_mix_schedule *schedule, int64_t *rows, int64_t n,
                           int32_t *sources);

/* The largest n, at most PFD_MIX_MOST_ROWS, at which no source has been drawn more often than it
 * has records. */
int64_t pfd_mix_schedule_first_exhausted(const pfd_mix_schedule *schedule, const int64_t *records);

/* The smallest n at which each source that the last segment draws has been drawn as often as it has
 * records; -1: it would be more than PFD_MIX_MOST_ROWS. */
int64_t pfd_mix_schedule_all_exhausted(const pfd_mix_schedule *schedule, const int64_t *records);
#define PFD_MIX_MOST_ROWS (INT64_C(1) << 60)

/* A hash of what decides the first n rows. */
uint64_t pfd_mix_schedule_past(const pfd_mix_schedule *schedule, int64_t n);
#endif
