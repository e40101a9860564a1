/* core/permutation.h -- a keyed permutation of [0, n), 0 <= n <= 2^62, in O(1) memory.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_PERMUTATION_H
#define PFD_CORE_PERMUTATION_H
#include <stdint.h>

#define PFD_PERMUTATION_ROUNDS 8
typedef struct pfd_permutation {
    int64_t n;
    uint32_t left;       /* the domain is left x 2^right_bits >= n */
    uint32_t right_bits;
    uint64_t keys[PFD_PERMUTATION_ROUNDS];
} pfd_permutation;

void pfd_permutation_init(pfd_permutation *permutation, uint64_t key, int64_t n);

/* The new places of in[0, count); in and out may be the same. */
void pfd_permute(const pfd_permutation *permutation, const int64_t *in, int64_t count,
                 int64_t *out);
#endif
