/* XXH64 with seed 0. */
#include "pyflowdata/pyflowdata.h"

#include "core/xxh64.h"

#include "core/bytes.h"

#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME_5 UINT64_C(0x27d4eb2f165667c5)

enum { lanes = 4, stripe_bytes = 32 };

static inline uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline uint64_t mix(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * PRIME_2, 31) * PRIME_1;
}

static inline uint64_t merge(uint64_t hash, uint64_t lane)
{
    return (hash ^ mix(0, lane)) * PRIME_1 + PRIME_4;
}

/* All whole stripes, in four independent lanes. */
static uint64_t hash_stripes(const uint8_t *data, int64_t stripes)
{
    uint64_t lane[lanes] = {PRIME_1 + PRIME_2, PRIME_2, 0, 0 - PRIME_1};
    for (; stripes > 0; stripes--, data += stripe_bytes)
        for (int i = 0; i < lanes; i++) lane[i] = mix(lane[i], pfd_load_le64(data + 8 * i));
    uint64_t hash =
        rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
    for (int i = 0; i < lanes; i++) hash = merge(hash, lane[i]);
    return hash;
}

uint64_t pfd_xxh64(const void *bytes, int64_t size)
{
    const uint8_t *data = bytes;
    int64_t stripes = size / stripe_bytes;
    uint64_t hash = stripes > 0 ? hash_stripes(data, stripes) : PRIME_5;
    const uint8_t *at = data + stripes * stripe_bytes;
    int64_t left = size % stripe_bytes;
    hash += (uint64_t)size;
    for (; left >= 8; left -= 8, at += 8)
        hash = rotate(hash ^ mix(0, pfd_load_le64(at)), 27) * PRIME_1 + PRIME_4;
    for (; left >= 4; left -= 4, at += 4)
        hash = rotate(hash ^ pfd_load_le32(at) * PRIME_1, 23) * PRIME_2 + PRIME_3;
    for (; left > 0; left--, at++) hash = rotate(hash ^ *at * PRIME_5, 11) * PRIME_1;
    hash = (hash ^ hash >> 33) * PRIME_2;
    hash = (hash ^ hash >> 29) * PRIME_3;
    return hash ^ hash >> 32;
}
