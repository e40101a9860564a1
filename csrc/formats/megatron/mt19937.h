/* formats/megatron/mt19937.h -- the Mersenne Twister as NumPy's RandomState uses it.
 *
 * It only reproduces orders of other programs; everything else uses core/random.h.
 * THREADS  One thread at a time per state.
 */
#ifndef PFD_FORMATS_MEGATRON_MT19937_H
#define PFD_FORMATS_MEGATRON_MT19937_H
#include <stdint.h>

typedef struct pfd_mt19937 {
    uint32_t key[624];
    int32_t next; /* the next number of `key`; 624: a new key is needed */
} pfd_mt19937;

/* Does what RandomState(seed) does. */
void pfd_mt19937_seed(pfd_mt19937 *state, uint32_t seed);

/* Does what RandomState.shuffle() does with an array of one dimension. */
void pfd_mt19937_shuffle32(pfd_mt19937 *state, uint32_t *values, int64_t n);
void pfd_mt19937_shuffle64(pfd_mt19937 *state, int64_t *values, int64_t n);
#endif
