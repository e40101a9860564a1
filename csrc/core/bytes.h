/* core/bytes.h -- numbers in unaligned bytes, in the byte order of a file; sixteen bytes at once;
 * short texts compared; rows prefetched.
 *
 * Nothing is checked: the caller has checked the size.
 */
#ifndef PFD_CORE_BYTES_H
#define PFD_CORE_BYTES_H
#include "core/cpu.h"

#include <stdint.h>
#include <string.h>

/* ---- Numbers --------------------------------------------------------------------------------- */

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PFD_LITTLE_(bits, value) __builtin_bswap##bits(value)
#else
#define PFD_LITTLE_(bits, value) (value)
#endif

/* Little-endian. */
static inline uint16_t pfd_load_le16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return PFD_LITTLE_(16, value);
}

static inline uint32_t pfd_load_le32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return PFD_LITTLE_(32, value);
}

static inline uint64_t pfd_load_le64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return PFD_LITTLE_(64, value);
}

static inline void pfd_store_le32(uint32_t value, uint8_t *at)
{
    value = PFD_LITTLE_(32, value);
    memcpy(at, &value, sizeof value);
}

static inline void pfd_store_le64(uint64_t value, uint8_t *at)
{
    value = PFD_LITTLE_(64, value);
    memcpy(at, &value, sizeof value);
}

/* A big-endian number of 1 to 8 bytes. */
static inline uint64_t pfd_load_be(const uint8_t *at, int32_t bytes)
{
    uint64_t value = 0;
    for (int32_t i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}

/* memcmp() == 0 of short texts. */
PFD_INLINE int32_t pfd_is_same(const uint8_t *a, const uint8_t *b, int64_t size)
{
    int64_t i = 0;
    for (; size - i >= 8; i += 8)
        if (pfd_load_le64(a + i) != pfd_load_le64(b + i)) return 0;
    if (size >= 8) return pfd_load_le64(a + size - 8) == pfd_load_le64(b + size - 8);
    if (size >= 4)
        return pfd_load_le32(a) == pfd_load_le32(b) &&
               pfd_load_le32(a + size - 4) == pfd_load_le32(b + size - 4);
    for (; i < size; i++)
        if (a[i] != b[i]) return 0;
    return 1;
}

/* Prefetches a cache line into the second-level cache.  It can wait for more lines at a time than
 * the first-level one, where too many prefetches stall or are dropped. */
PFD_INLINE void pfd_prefetch_line(const void *at)
{
    __builtin_prefetch(at, 0, 2);
}

/* Prefetches the bytes of a row that is copied a few rows later; the processor does the rest. */
PFD_INLINE void pfd_prefetch(const uint8_t *data, int64_t size)
{
    enum { LINE = 64, LINES = 10 };
    for (int64_t at = 0; at < size && at < LINES * LINE; at += LINE) pfd_prefetch_line(data + at);
}

/* ---- Sixteen bytes at once ------------------------------------------------------------------- */

/* With SSE2 or NEON.  Compilers have operators for such vectors: bytes == 10 is 255 in each byte
 * that is a newline, and 0 in all others.  The functions below do what no operator does. */
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
