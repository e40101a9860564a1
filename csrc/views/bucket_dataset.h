/* views/bucket_dataset.h -- batches of records of similar lengths: which record each row has.
 *
 * Records are sorted by length and cut into buckets.  A bucket's records are cut again into as many
 * groups of neighbours as a batch has rows.  In each epoch every group is permuted, and batch j has
 * the j-th record of each group: every record once, in batches that all have the same spread of
 * lengths.  The batches of all buckets are permuted too.  So every batch is found in O(1), and
 * their number is the same in every epoch.
 *
 * Rows of a batch are in an order in which every rank's run of rows, of any number of equal runs,
 * has nearly the same sum of squared lengths: the cost of attention.
 *
 * OWNERSHIP  The table owns its arrays; the lengths are not needed after open.
 * THREADS    open and close: one thread; the rest: any number of threads.
 */
#ifndef PFD_VIEWS_BUCKET_DATASET_H
#define PFD_VIEWS_BUCKET_DATASET_H
#include "views/record_table.h"

/* Bucket i has lengths in [boundaries[i - 1], boundaries[i]); without boundaries they are chosen.
 * A batch has batch_sizes[i] rows, or batch_size, or with max_tokens at most batch_size rows, so
 * many that rows times the longest record of the bucket are within max_tokens. */
typedef struct pfd_bucket_rule {
    const int64_t *boundaries, *batch_sizes; /* batch_sizes: one more, or NULL */
    int64_t num_boundaries;
    int64_t batch_size;  /* at least multiple_of */
    int64_t max_tokens;  /* 0: no limit */
    int64_t multiple_of; /* with max_tokens: of batch sizes */
    int32_t drops_short; /* short batches are left out, with other records in each epoch */
} pfd_bucket_rule;

typedef struct pfd_bucket {
    int64_t first_record, num_records; /* in `records` of the table */
    int64_t first_batch, num_batches;
    int64_t first_position; /* position of its first batch's first row */
    int64_t rows;           /* rows of a batch; the last may have fewer */
    const int32_t *order;       /* the group of each row of a batch */
    const int32_t *short_order; /* the same among the groups that a short batch has; or NULL */
} pfd_bucket;

typedef struct pfd_bucket_table {
    pfd_bucket *buckets; /* the longest first */
    int64_t num_buckets;
    int64_t *records; /* sorted by length, the longest first */
    int32_t **orders; /* orders of the buckets */
    int64_t num_orders;
    int64_t num_batches;
    int64_t num_positions; /* rows of all batches */
    int64_t most_rows;     /* the most rows of a batch */
} pfd_bucket_table;

/* PFD_INVALID_ARGUMENT: max_tokens is less than the longest record needs. */
pfd_status pfd_bucket_table_open(const pfd_bucket_rule *rule, const pfd_lengths *lengths,
                                 pfd_bucket_table *out, pfd_error *err);
void pfd_bucket_table_close(pfd_bucket_table *table); /* accepts a zeroed one */

/* The positions [*begin, *end) of a batch.  Positions do not depend on the epoch, the order of
 * batches and the records at positions do depend on it. */
void pfd_bucket_table_batch(const pfd_bucket_table *table, int64_t batch, int64_t *begin,
                            int64_t *end);

/* The records at n positions, with the random orders of `key`; is_random 0: as they are sorted. */
void pfd_bucket_table_records(const pfd_bucket_table *table, uint64_t key, int32_t is_random,
                              const int64_t *positions, int64_t n, int64_t *records);

/* An order of n rows with the heaviest first, in which the two halves have nearly the same weight,
 * and so have their halves, and so on.  The caller frees it.  NULL: out of memory. */
int32_t *pfd_spread_order(const double *weights, int64_t n);
#endif
