/* index/bitmap.h -- which rows of a data set are selected: one bit each, and look-ups by rank.
 *
 * Besides the words, which are borrowed, it has 32 bits for each 512 rows and for each 8192
 * selected ones: at most 1.067 bits a row in all.  A look-up is a search among the blocks between
 * two samples, and a walk through one block, which is one cache line.
 *
 * OWNERSHIP  The words must live as long as the bitmap.
 * THREADS    open and close: one thread.  select: any number of threads.
 */
#ifndef PFD_INDEX_BITMAP_H
#define PFD_INDEX_BITMAP_H
#include "pyflowdata/op.h"

/* Bits, at most: the number of a block has 32 bits. */
#define PFD_MOST_BITMAP_BITS (INT64_C(1) << 41)

typedef struct pfd_bitmap {
    const uint64_t *words; /* borrowed; bit i is bit i % 64 of word i / 64 */
    int64_t num_bits, num_ones;
    int64_t num_blocks;
    uint32_t *before;  /* owned: ones before each block and before the end, modulo 2^32 */
    uint32_t *samples; /* owned: the block of each 8192nd one; at last, the last block */
} pfd_bitmap;

/* Counts the ones of (num_bits + 63) / 64 words; bits after the last one do not count.
 * ERRORS: PFD_OUT_OF_MEMORY; PFD_UNSUPPORTED for too many bits. */
pfd_status pfd_bitmap_open(pfd_bitmap *out, const uint64_t *words, int64_t num_bits,
                           pfd_error *err);

/* Frees what open() allocated. */
void pfd_bitmap_close(pfd_bitmap *bitmap);

/* The places of the ones with n ranks, 0 <= rank < num_ones, in any order; ranks and out may be the
 * same.  Ascending ranks are the fastest. */
void pfd_bitmap_select(const pfd_bitmap *bitmap, const int64_t *ranks, int64_t n, int64_t *out);
#endif
