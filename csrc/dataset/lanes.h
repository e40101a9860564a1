/* dataset/lanes.h -- lanes: disjoint parts of the data, so that ranks read disjoint blocks.
 *
 * Row p of each logical batch of B rows comes from lane floor(p * num_lanes / B).  A rank has a run
 * of rows of each batch, so if the world size divides the lanes, its rows come from lanes that no
 * other rank has.
 *
 * THE DATA of n records are cut into blocks of block_size; the last one may be short.  The other
 * ones are permuted, and each lane gets as many of them as the others: its whole blocks.  The
 * remaining blocks, fewer than num_lanes, and after them the last one are cut into a part for each
 * lane, of at most block_size records.  So the sizes of two lanes differ by one record at most, and
 * all batches are full but the last one.  This is the same in all epochs: what a rank has cached of
 * the data is what it needs again.
 *
 * THE ORDER of a lane's records is not told here: see dataset/window_lanes.h.  Records are numbered
 * within a lane: its whole blocks come first, its part of the remaining ones last.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_DATASET_LANES_H
#define PFD_DATASET_LANES_H
#include "core/random.h"

typedef struct pfd_lanes {
    int64_t n, num_lanes, block_size;
    int64_t rows;        /* of a lane, in a full batch */
    int64_t num_batches; /* the full ones of an epoch */
    int64_t num_whole;   /* blocks that are whole in a lane, the same number in each */
    int64_t last_block;
    pfd_permutation blocks; /* of all blocks but the last */
} pfd_lanes;

/* `batch_size` is a multiple of num_lanes >= 1. */
void pfd_lanes_init(pfd_lanes *lanes, uint64_t key, int64_t n, int64_t num_lanes,
                    int64_t block_size, int64_t batch_size);

int64_t pfd_lanes_size(const pfd_lanes *lanes, int64_t lane); /* records of a lane */

/* Positions of an epoch that follow each other in one lane. */
typedef struct pfd_lane_run {
    int64_t lane;
    int64_t place; /* in the lane's order, of the first one */
    int64_t count;
} pfd_lane_run;

/* The run that begins at 0 <= position < n. */
pfd_lane_run pfd_lanes_find(const pfd_lanes *lanes, int64_t position);

/* Numbers of records in a lane become ordinals, in place. */
void pfd_lanes_to_ordinals(const pfd_lanes *lanes, int64_t lane, int64_t *numbers, int64_t count);
#endif
