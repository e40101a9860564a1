/* dataset/dataset.h -- calling any dataset, and the decorators.
 *
 * OWNERSHIP  pfd_X_wrap(&ds, ...) replaces *ds by a decorator that owns it.  If it fails, *ds is
 *            unchanged and still the caller's.  Closing the outermost closes the chain.
 * ARGUMENTS  The reader attrs check all numbers (registry/attrs.h); no dataset checks them again.
 * THREADS    at() runs on many threads, every other method on one thread at a time.
 * ERRORS     After next() or seek() has failed, the caller seeks to the batch after the failed one:
 *            decorators do not repair their cursors.
 *
 * The chain, innermost first, built by loader/plan/data_reader.c:
 *
 *   source -> [cancellation] -> random_shuffle | window_shuffle | window_lanes | shuffle_buffer
 *          -> batch | view_batch | group_batch -> distributed_training
 *
 * The source is an op's, or it gives the places of rows to the views of loader/plan/view_tree.h.
 * A cancellation is there only over a stream, a shuffle_buffer or a group_batch.
 * Batches are formed before they are split over the ranks: so a batch has the same rows at any
 * world size, also a batch of one group.
 */
#ifndef PFD_DATASET_DATASET_H
#define PFD_DATASET_DATASET_H
#include "core/error.h"
#include "core/scratch.h"
#include "pyflowdata/op.h"

#include <stdatomic.h>

typedef struct pfd_dataset pfd_dataset;
struct pfd_view;

/* A dataset is random-access (size and at) or a stream (next and seek). */
typedef struct pfd_dataset_methods {
    const char *name;

    /* Frees self and inner; accepts a half-open dataset. */
    void (*close)(pfd_dataset *self);

    /* Random access.  at() describes the records at n positions of an epoch, in any order and with
     * repeats; out[i] is the record at positions[i], a pure function of (epoch, position).
     * err->row is the index into positions that failed.
     * With `scratch` NULL nothing is read: out[i] has the ordinal, and the file and about the
     * offset as places() of the source tells them, or file -1. */
    int64_t (*size)(const pfd_dataset *self);
    pfd_status (*at)(const pfd_dataset *self, int64_t epoch, const int64_t *positions, int64_t n,
                     pfd_scratch *scratch, pfd_record *out, pfd_error *err);

    /* Stream, as in pfd_source_methods.  A dataset that forms batches yields exactly one batch per
     * next(), possibly with 0 rows for this rank, and its positions count batches. */
    pfd_status (*next)(pfd_dataset *self, int64_t max, pfd_scratch *scratch, pfd_record *out,
                       int64_t *n, pfd_error *err);
    pfd_status (*seek)(pfd_dataset *self, int64_t epoch, int64_t position, pfd_error *err);

    /* Optional: fills err->line from file, offset and byte of a record that failed. */
    void (*describe)(const pfd_dataset *self, const pfd_record *record, pfd_error *err);

    /* Random-access datasets that form batches: the number of batches of an epoch, and the
     * positions [*begin, *end) of the rows of batch `step`. */
    int64_t (*num_batches)(const pfd_dataset *self);
    void (*batch)(const pfd_dataset *self, int64_t epoch, int64_t step, int64_t *begin,
                  int64_t *end);
    int64_t (*most_rows)(const pfd_dataset *self); /* the most rows of a batch; NULL: batch_size */
} pfd_dataset_methods;

/* First member of every dataset's own struct. */
struct pfd_dataset {
    const pfd_dataset_methods *methods;
    pfd_dataset *inner; /* owned; NULL for a source */
    int64_t epoch;      /* cursor of random-access datasets */
    int64_t position;
};

/* In the order of the choices. */
#define PFD_LAST_BATCH_CHOICES "short|drop|pad|wrap|even"
#define PFD_LAST_BATCH_SHORT 0
#define PFD_LAST_BATCH_DROP 1
#define PFD_LAST_BATCH_PAD 2
#define PFD_LAST_BATCH_WRAP 3
#define PFD_LAST_BATCH_EVEN 4

/* Makes a dataset of the source that an op opened, and takes ownership: after a failure the source
 * is closed.  `bounds` are borrowed.  PFD_INTERNAL names the method that is missing or faulty. */
pfd_status pfd_source_to_dataset(const pfd_source *source, const pfd_bounds *bounds,
                                 pfd_dataset **out, pfd_error *err) PFD_PRIVATE;

/* A dataset of `size` records without bytes: a record has its epoch as its offset and its position
 * as its ordinal.  The outermost view of a data set finds the real record by these two. */
pfd_status pfd_place_source_open(int64_t size, pfd_dataset **out, pfd_error *err);

/* These take a dataset of pfd_source_to_dataset(), and call the function of the source with the
 * same name (op.h): `self` of the source; its fingerprint, or 0; the bytes of a record, or 0; the
 * places of records, and 0 if the source has no places(). */
const void *pfd_source_self(const pfd_dataset *ds) PFD_PRIVATE;
uint64_t pfd_source_fingerprint(const pfd_dataset *ds);
int64_t pfd_source_record_bytes(const pfd_dataset *ds);
const int64_t *pfd_source_blocks(const pfd_dataset *ds, int64_t *num_blocks); /* NULL: none */
int32_t pfd_source_places(const pfd_dataset *ds, const int64_t *ordinals, int64_t n,
                          pfd_place *out);
int32_t pfd_source_need(const pfd_dataset *ds, const int64_t *ordinals, int64_t n,
                        pfd_scratch *scratch); /* 0: it has no need() */

int32_t pfd_dataset_is_random_access(const pfd_dataset *ds); /* it has size() and at() */

/* next() and seek() of any dataset; for a random-access one they use size() and at(). */
pfd_status pfd_dataset_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch, pfd_record *out,
                            int64_t *n, pfd_error *err);
pfd_status pfd_dataset_seek(pfd_dataset *ds, int64_t epoch, int64_t position,
                            pfd_error *err) PFD_PRIVATE;
/* Calls describe() of the outermost dataset of the chain that has one. */
void pfd_dataset_describe(const pfd_dataset *ds, const pfd_record *record, pfd_error *err);
void pfd_dataset_close(pfd_dataset *ds) PFD_PRIVATE; /* accepts NULL */

/* Once *cancelled is not 0, every call fails with PFD_CANCELLED: long reads (a buffer that fills,
 * an epoch that is replayed) end within one call of the source.  The flag is borrowed.  Stream: a
 * next() that fails with PFD_CORRUPT_DATA has consumed the damaged record, even where the source
 * has not. A seek() that fails with PFD_CORRUPT_DATA cannot get past the damage; its reason is
 * PFD_REASON_REST_UNREADABLE. */
pfd_status pfd_cancellation_wrap(pfd_dataset **ds, const _Atomic int32_t *cancelled,
                                 pfd_error *err);

/* ---- Shuffles ----------------------------------------------------------------------------------
 *
 * The order of a shuffle is a function of (seed, order_key) and, with reshuffle, of the epoch.
 * order_key is copied. */

/* Random access only: a keyed permutation of each epoch. */
pfd_status pfd_random_shuffle_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                   int32_t reshuffle, pfd_error *err);

/* A stream, also over random access: a buffer of buffer_size records, in which a random one is
 * replaced by the next one read; drained at the end of the epoch, so that an epoch has every record
 * once. */
pfd_status pfd_shuffle_buffer_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                   int32_t reshuffle, int64_t buffer_size, pfd_error *err);

/* Random access only: blocks of block_size records permuted, and the records of each run of
 * `window` permuted blocks among each other; see dataset/shuffle.h. */
#define PFD_MOST_WINDOW_RECORDS (INT64_C(1) << 31) /* block_size * window, at most */
pfd_status pfd_window_shuffle_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                   int32_t reshuffle, int64_t block_size, int64_t window,
                                   pfd_error *err);

/* The same with the source's own blocks, which have any sizes: block i begins with record first[i],
 * and first[num_blocks] is the number of records.  Neighbours with fewer than block_size records
 * together are one block.  Lanes are as below, but several lanes may share a block, if there are
 * few blocks; they read a shared block at about the same time. */
pfd_status pfd_block_shuffle_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                  int32_t reshuffle, const int64_t *first, int64_t num_blocks,
                                  int64_t block_size, int64_t window, int64_t num_lanes,
                                  int64_t batch_size, pfd_error *err);

/* Random access only: a window shuffle in each of num_lanes disjoint subsets of the data.  A batch
 * of batch_size records, a multiple of num_lanes, has as many rows of one lane as of another; see
 * dataset/shuffle.h. */
pfd_status pfd_window_lanes_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                 int32_t reshuffle, int64_t block_size, int64_t window_blocks,
                                 int64_t num_lanes, int64_t batch_size, pfd_error *err);

/* ---- Batches --------------------------------------------------------------------------------- */

/* Logical batches of batch_size records.  The rule for a last batch with too few records:
 *   short  a smaller batch
 *   drop   left out
 *   pad    filled with the epoch's last record
 *   wrap   filled with the first records of the next epoch, which has these records again
 *   even   cut to a multiple of world_size; left out if nothing is left
 * Rows that fill a batch have record.filler set.  An epoch without records has no batches. */
typedef struct pfd_batch_rule {
    int64_t batch_size; /* a multiple of world_size */
    int64_t world_size;
    int32_t last_batch; /* PFD_LAST_BATCH_* */
    _Atomic int64_t *left_out; /* borrowed, or NULL: at the end of an epoch a stream writes how many
                                  of its records have no batch */
} pfd_batch_rule;

/* Rows of all batches of an epoch with `records` records. */
int64_t pfd_batch_rows(const pfd_batch_rule *rule, int64_t records);
pfd_status pfd_batch_wrap(pfd_dataset **ds, const pfd_batch_rule *rule, pfd_error *err);

/* Random access only: the batches that a view of kind PFD_VIEW_BATCHES forms.  The view is
 * borrowed. */
pfd_status pfd_view_batch_wrap(pfd_dataset **ds, const struct pfd_view *view, pfd_error *err);

/* A stream of batches of one group each.  A group's batch goes out when it is full; at the end of
 * the epoch the rest goes out, oldest group first, by the last_batch rule (wrap acts as pad).  At
 * most buffer_size records wait between calls; when one more would have to wait, the group that has
 * waited longest goes out by the same rule (with drop: as a short batch, since dropping in the
 * middle of an epoch would lose records silently).  When group() fails for a record, that record is
 * skipped, and the call fails with the unchanged error.  A call that fails with PFD_CORRUPT_DATA
 * counts as one batch, also for seek(). */
typedef pfd_status (*pfd_group_fn)(const void *ctx, const pfd_record *record, int64_t *group,
                                   pfd_error *err);
pfd_status pfd_group_batch_wrap(pfd_dataset **ds, int64_t batch_size, int32_t last_batch,
                                int64_t buffer_size, pfd_group_fn group, const void *ctx,
                                pfd_error *err);

/* The rows [*begin, *end) of a logical batch that a rank has, SBP Split(0): the rows are cut into
 * world_size runs whose lengths differ by at most one, longer runs first.  A short last batch may
 * leave a rank 0 rows, and every rank still takes the step. */
void pfd_rank_rows(int64_t rows, int64_t rank, int64_t world_size, int64_t *begin, int64_t *end);
/* Narrows each logical batch to the rows of one rank; world_size divides batch_size. */
pfd_status pfd_distributed_training_wrap(pfd_dataset **ds, int64_t batch_size, int64_t rank,
                                         int64_t world_size, pfd_error *err);

/* ---- For those who write datasets ------------------------------------------------------------ */

/* at() of a decorator turns positions into inner ones by pieces of this many, on its stack. */
#define PFD_POSITIONS_PER_PIECE 1024

/* at() of a dataset for out[done, done + n); a failed row counts from out[0]. */
static inline pfd_status pfd_dataset_at_piece(const pfd_dataset *ds, int64_t epoch,
                                              const int64_t *positions, int64_t n, int64_t done,
                                              pfd_scratch *scratch, pfd_record *out,
                                              pfd_error *err)
{
    pfd_status status = ds->methods->at(ds, epoch, positions, n, scratch, out + done, err);
    if (status != PFD_OK && err->row >= 0) err->row += done;
    return status;
}

/* Turns `count` positions of a decorator into those of its inner dataset; both have room for
 * PFD_POSITIONS_PER_PIECE. `ctx` is what pfd_dataset_at_mapped() was given. */
typedef void (*pfd_map_positions)(const void *ctx, const int64_t *positions, int64_t count,
                                  int64_t *mapped);

/* at() of a decorator that only reorders records: at() of the inner dataset at mapped positions. */
pfd_status pfd_dataset_at_mapped(const pfd_dataset *inner, int64_t epoch, const int64_t *positions,
                                 int64_t n, pfd_map_positions map, const void *ctx,
                                 pfd_scratch *scratch, pfd_record *out, pfd_error *err);

/* PFD_INTERNAL when a batch of `rows` does not fit into the `max` records that next() was given. */
pfd_status pfd_dataset_check_room(const pfd_dataset *ds, int64_t max, int64_t rows, pfd_error *err);

/* PFD_INTERNAL: next() gave `n` records, which is not in [1, max]. */
pfd_status pfd_dataset_fail_count(int64_t n, int64_t max, pfd_error *err);
#endif
