/* core/random.h -- the only source of random numbers: pure functions, equal on every machine; and
 * the permutations, logarithms and powers that belong to them.
 *
 * A key is 64 bits made from seed, epoch and a name; numbers are functions of (key, counter).
 * Not for secrets.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_RANDOM_H
#define PFD_CORE_RANDOM_H
#include <stdint.h>

/* ---- Logarithms and powers ------------------------------------------------------------------- */

/* The natural logarithm of a finite x > 0, and the exponential function: within 1e-15 of the result
 * or of 1.  exp() of more than 700 is infinite, of less than -700 it is 0.  The functions of C
 * libraries differ in their last bits. */
double pfd_log(double x);
double pfd_exp(double x);

/* ---- Random numbers -------------------------------------------------------------------------- */

/* Key of (seed, epoch, name): every bit depends on all three. */
uint64_t pfd_random_key(int64_t seed, int64_t epoch, const char *name);

/* The counter-th 64 random bits of a key. */
uint64_t pfd_random_bits(uint64_t key, uint64_t counter);

/* The counter-th number of a key, uniform in [0, n), n > 0 (exactly uniform: by rejection). */
int64_t pfd_random_below(uint64_t key, uint64_t counter, int64_t n);

/* 64 bits from the operating system, for seeds that the user left open. */
uint64_t pfd_random_entropy(void);

/* ---- Permutations ---------------------------------------------------------------------------- */

#define PFD_PERMUTATION_ROUNDS 8
/* A keyed permutation of [0, n), 0 <= n <= 2^62, in O(1) memory. */
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
