/* core/bytes16.h -- sixteen bytes at once, with SSE2 or NEON.
 *
 * Compilers have operators for such vectors: bytes == 10 is 255 in each byte that is a newline, and
 * 0 in all others.  This header has the operations without an operator.
 */
#ifndef PFD_CORE_BYTES16_H
#define PFD_CORE_BYTES16_H
#include "core/simd.h"

#include <stdint.h>

#if defined(__SSE2__) || defined(__AARCH64EL__)
#define PFD_HAS_BYTES16 1
#if defined(__SSE2__)
#include <emmintrin.h>
#else
#include <arm_neon.h>
#endif

typedef uint8_t pfd_bytes16 __attribute__((vector_size(16)));
typedef uint8_t pfd_any16 __attribute__((vector_size(16), aligned(1), may_alias));

PFD_INLINE pfd_bytes16 pfd_load16(const uint8_t *bytes)
{
    return *(const pfd_any16 *)bytes;
}

/* A bit for each of 64 bytes that are 0 or 255. */
PFD_INLINE uint64_t pfd_bits64(const pfd_bytes16 found[4])
{
#if defined(__SSE2__)
    uint64_t bits = 0;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8((__m128i)found[i]) << (16 * i);
    return bits;
#else
    const uint8x16_t places = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t low = vpaddq_u8(found[0] & places, found[1] & places);
    uint8x16_t high = vpaddq_u8(found[2] & places, found[3] & places);
    uint8x16_t bytes = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(bytes, bytes)), 0);
#endif
}

#endif
#endif
