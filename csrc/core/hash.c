/* Hashes of words and bytes. */
#include "core/hash.h"

/* Odd: 2^64 divided by the golden ratio.  It keeps a hash of zeros from staying 0. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

uint64_t pfd_hash_word(uint64_t hash, uint64_t word)
{
    return pfd_mix64((hash ^ word) + GOLDEN);
}

/* Words are put together byte by byte: the same on machines of either byte order. */
uint64_t pfd_hash_bytes(uint64_t hash, const void *data, int64_t size)
{
    const uint8_t *bytes = data;
    uint64_t word = 0;
    for (int64_t i = 0; i < size; i++) {
        word |= (uint64_t)bytes[i] << (8 * (i % 8));
        if (i % 8 == 7) {
            hash = pfd_hash_word(hash, word);
            word = 0;
        }
    }
    return pfd_hash_word(pfd_hash_word(hash, word), (uint64_t)size);
}
