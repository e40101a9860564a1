/* core/hash.h -- hashes of words and bytes, equal on every machine.  Not for secrets.
 *
 * A hash starts as any number, such as 0, and is updated with each value in order.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_HASH_H
#define PFD_CORE_HASH_H
#include <stdint.h>

/* A bijection in which every input bit flips every output bit with probability near one half: D.
 * Stafford's "Mix13", the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom
 * number generators, 2014). */
static inline uint64_t pfd_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t pfd_hash_word(uint64_t hash, uint64_t word);

/* As little-endian words, the last one (possibly empty) padded with zeros; then the size. */
uint64_t pfd_hash_bytes(uint64_t hash, const void *data, int64_t size);
#endif
