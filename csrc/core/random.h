/* core/random.h -- the only source of random numbers: pure functions, equal on every machine.
 *
 * A key is 64 bits made from seed, epoch and a name; numbers are functions of (key, counter).
 * Not for secrets.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_RANDOM_H
#define PFD_CORE_RANDOM_H
#include <stdint.h>

/* Key of (seed, epoch, name): every bit depends on all three. */
uint64_t pfd_random_key(int64_t seed, int64_t epoch, const char *name);

/* The counter-th 64 random bits of a key. */
uint64_t pfd_random_bits(uint64_t key, uint64_t counter);

/* The counter-th number of a key, uniform in [0, n), n > 0 (exactly uniform: by rejection). */
int64_t pfd_random_below(uint64_t key, uint64_t counter, int64_t n);

/* 64 bits from the operating system, for seeds that the user left open. */
uint64_t pfd_random_entropy(void);
#endif
