/* dataset/shuffle.h -- orders of epochs that read ahead knows about: windows and lanes.
 *
 * THREADS  Any thread may call every function.
 */
#ifndef PFD_DATASET_SHUFFLE_H
#define PFD_DATASET_SHUFFLE_H
#include "core/random.h"
#include "dataset/dataset.h"

/* ---- Windows: an order that is random and keeps reads together ---------------------------------
 *
 * The records, in file order, are cut into blocks of block_size; the last one may be short.  The
 * blocks are permuted, each run of `window` permuted blocks is a window, and the records of a
 * window are permuted among each other.  So while a window is read only its blocks are touched,
 * and in an epoch each block in one window. */

/* The order of one epoch.  A slot is a place in the order of the blocks. */
typedef struct pfd_window_order {
    int64_t n; /* records, at most 2^62 */
    int64_t block_size, window;
    int64_t num_slots;   /* blocks, the last one included */
    int64_t last_slot;   /* slot of the last block, which may be short */
    int64_t last_size;   /* records of it, at least 1 */
    uint64_t reciprocal; /* 1 / block_size, times 2^shift */
    uint32_t shift;
    uint64_t windows_key;   /* key of the permutations of the records */
    pfd_permutation blocks; /* order of all blocks but the last */
} pfd_window_order;

/* 1 <= block_size * window <= PFD_MOST_WINDOW_RECORDS, both at least 1. */
void pfd_window_order_init(pfd_window_order *order, uint64_t key, int64_t n, int64_t block_size,
                           int64_t window);

/* The ordinals at positions in[0, count); in and out may be the same.  It is fastest where
 * neighbours in `in` are of one window. */
void pfd_window_order_map(const pfd_window_order *order, const int64_t *in, int64_t count,
                          int64_t *out);

typedef struct pfd_record_range {
    int64_t begin, end; /* ordinals */
} pfd_record_range;

/* For reading ahead: the positions [span->begin, span->end) of the window that a position is in,
 * and up to `max` blocks of that window from the first-th on.  Returns how many blocks it wrote.
 * The next window begins at position span->end. */
int64_t pfd_window_order_blocks(const pfd_window_order *order, int64_t position,
                                pfd_record_range *span, int64_t first, int64_t max,
                                pfd_record_range *blocks);

/* The order of an epoch of a dataset that pfd_window_shuffle_wrap() made. */
void pfd_window_shuffle_order(const pfd_dataset *ds, int64_t epoch, pfd_window_order *order);

/* ---- Lanes: disjoint subsets of the data, so that ranks read disjoint blocks -------------------
 *
 * Row p of each logical batch of B rows comes from lane floor(p * num_lanes / B).  A rank has a run
 * of rows of each batch, so if the world size divides the lanes, its rows come from lanes that no
 * other rank has.
 *
 * THE DATA of n records are cut into blocks of block_size; the last one may be short.  The other
 * blocks are permuted, and each lane gets the same number of them: its whole blocks.  The remaining
 * blocks, fewer than num_lanes, and after them the last one are cut into a piece for each lane, of
 * at most block_size records.  So the sizes of two lanes differ by one record at most, and all
 * batches are full but the last one.  Lanes are the same in all epochs: a rank reads again what it
 * cached.
 *
 * THE ORDER of a lane's records is a window order of the lane's own.  Records are numbered within a
 * lane: its whole blocks come first, its piece of the remaining ones last. */

typedef struct pfd_lanes {
    int64_t n, num_lanes, block_size;
    int64_t rows;        /* rows of a lane, in a full batch */
    int64_t num_batches; /* the full ones of an epoch */
    int64_t num_whole;   /* blocks that are whole in a lane, the same number in each */
    int64_t last_block;
    pfd_permutation blocks; /* order of all blocks but the last */
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

/* Turns numbers of records in a lane into ordinals, in place. */
void pfd_lanes_to_ordinals(const pfd_lanes *lanes, int64_t lane, int64_t *numbers, int64_t count);

/* The lanes of a dataset that pfd_window_lanes_wrap() made; NULL for another one, and for NULL. */
const pfd_lanes *pfd_window_lanes(const pfd_dataset *ds);

/* The order of the records of a lane in an epoch. */
void pfd_window_lanes_order(const pfd_dataset *ds, int64_t epoch, int64_t lane,
                            pfd_window_order *order);

/* Turns ranges of a lane's records, each within a block of its order, into ranges of ordinals, in
 * place.  The lane's piece of the remaining blocks may lie in two blocks, so there may be one range
 * more: returns how many there are. */
int64_t pfd_window_lanes_ranges(const pfd_lanes *lanes, int64_t lane, pfd_record_range *ranges,
                                int64_t count);
#endif
