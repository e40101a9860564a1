/* dataset/window_shuffle.h -- an order that is random and keeps reads together.
 *
 * The records, in file order, are cut into blocks of block_size; the last one may be short.  The
 * blocks are permuted, each run of `window` permuted blocks is a window, and the records of a
 * window are permuted among each other.  So while a window is read only its blocks are touched,
 * and in an epoch each block in one window.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_DATASET_WINDOW_SHUFFLE_H
#define PFD_DATASET_WINDOW_SHUFFLE_H
#include "core/random.h"
#include "dataset/dataset.h"

/* The order of one epoch.  A slot is a place in the order of the blocks. */
typedef struct pfd_window_order {
    int64_t n; /* records, at most 2^62 */
    int64_t block_size, window;
    int64_t num_slots;   /* blocks, the last one included */
    int64_t last_slot;   /* of the last block, which may be short */
    int64_t last_size;   /* records of it, at least 1 */
    uint64_t reciprocal; /* of block_size, times 2^shift */
    uint32_t shift;
    uint64_t windows_key;   /* of the permutations of the records */
    pfd_permutation blocks; /* of all blocks but the last */
} pfd_window_order;

/* 1 <= block_size * window <= PFD_MOST_WINDOW_RECORDS, both at least 1. */
void pfd_window_order_init(pfd_window_order *order, uint64_t key, int64_t n, int64_t block_size,
                           int64_t window);

/* The ordinals at positions in[0, count); in and out may be the same.  Fastest where neighbours in
 * `in` are of one window. */
void pfd_window_order_map(const pfd_window_order *order, const int64_t *in, int64_t count,
                          int64_t *out);

typedef struct pfd_record_range {
    int64_t begin, end; /* ordinals */
} pfd_record_range;

/* What will be read in the window of a position, for reading ahead: the positions [span->begin,
 * span->end) of the window, and up to `max` of its blocks from the first-th on. Returns how many
 * blocks it wrote.  The next window is the one of position span->end. */
int64_t pfd_window_order_blocks(const pfd_window_order *order, int64_t position,
                                pfd_record_range *span, int64_t first, int64_t max,
                                pfd_record_range *blocks);

/* The order of an epoch of what pfd_window_shuffle_wrap() made. */
void pfd_window_shuffle_order(const pfd_dataset *ds, int64_t epoch, pfd_window_order *order);
#endif
