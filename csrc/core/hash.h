/* core/hash.h -- hashes and checksums of bytes, equal on every machine.  Not for secrets.
 *
 * A hash starts as any number, such as 0, and is updated with each value in order.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_HASH_H
#define PFD_CORE_HASH_H
#include <stdint.h>

/* ---- Hashes of words and bytes --------------------------------------------------------------- */

/* A bijection in which every input bit flips every output bit with probability near one half:
 * "Mix13" by D. Stafford, the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable
 * pseudorandom number generators, 2014). */
static inline uint64_t pfd_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t pfd_hash_word(uint64_t hash, uint64_t word);

/* As little-endian words, the last one (possibly empty) padded with zeros; then the size. */
uint64_t pfd_hash_bytes(uint64_t hash, const void *data, int64_t size);

/* ---- CRC-32C --------------------------------------------------------------------------------- */

/* Continues a checksum over data[0, size): `crc` is that of the bytes before, 0 at the start.  The
 * polynomial of Castagnoli, 0x1EDC6F41, reflected, inverted at the start and at the end.  All
 * variants give the same results.  pfd_crc32c(), in pyflowdata.h, is simpler to call. */
typedef uint32_t (*pfd_crc32c_fn)(uint32_t crc, const uint8_t *data, int64_t size);

/* The fastest one that this processor can run; PYFLOWDATA_SIMD=plain takes the reference. */
pfd_crc32c_fn pfd_crc32c_best(void);

/* The i-th one that this processor can run, the plain reference first; NULL past the last. */
pfd_crc32c_fn pfd_crc32c_at(int32_t i);

/* ---- XXH64 ----------------------------------------------------------------------------------- */

/* XXH64, Y. Collet's hash of bytes, seed 0: a checksum that OneRec and MDS files have. */
uint64_t pfd_xxh64(const void *data, int64_t size); /* as in pyflowdata.h */

/* ---- XXH3, 128 bits -------------------------------------------------------------------------- */

enum { PFD_XXH128_BYTES = 16 };

/* XXH3-128, Y. Collet's hash of bytes, seed 0: the checksum of files/seal.h. */
void pfd_xxh128(const void *data, int64_t size, uint8_t *digest); /* as in pyflowdata.h */
#endif
