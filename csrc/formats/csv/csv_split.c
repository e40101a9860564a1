/* Finds delimiters and quotes with masks of 64 bytes. */
#include "formats/csv/csv_split.h"

#include "core/bytes.h"
#include "core/cpu.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { block_bytes = 64 };

typedef struct masks {
    uint64_t delimiters, quotes;
} masks;

/* Writes the places of a mask's set bits. Branches depend only on how many bits are set. */
PFD_INLINE int64_t write_places(uint64_t mask, int64_t first, uint32_t *ends)
{
    int64_t n = 0;
    while (mask) {
        ends[n++] = (uint32_t)(first + __builtin_ctzll(mask));
        mask &= mask - 1;
    }
    return n;
}

/* The loop of all variants. It reads nothing outside the text: the last block overlaps the one
 * before; if it is the only block, it is copied first. */
#define SPLIT(look)                                                                                \
    {                                                                                              \
        int64_t found = 0, at = 0;                                                                 \
        uint64_t quotes = 0;                                                                       \
        for (; at + block_bytes <= size; at += block_bytes) {                                      \
            masks m = look(text + at, delimiter, quote);                                           \
            quotes |= m.quotes;                                                                    \
            if (found < most) found += write_places(m.delimiters, at, ends + found);               \
        }                                                                                          \
        if (at < size) {                                                                           \
            uint8_t copy[block_bytes];                                                             \
            int64_t left = size - at, passed = block_bytes - left;                                 \
            const uint8_t *last = text + size - block_bytes;                                       \
            if (size < block_bytes) {                                                              \
                memset(copy, 0, (size_t)passed);                                                   \
                memcpy(copy + passed, text + at, (size_t)left);                                    \
                last = copy;                                                                       \
            }                                                                                      \
            masks m = look(last, delimiter, quote);                                                \
            quotes |= m.quotes >> passed;                                                          \
            if (found < most) found += write_places(m.delimiters >> passed, at, ends + found);     \
        }                                                                                          \
        *has_quote = quotes != 0 && quote != delimiter;                                            \
        return found < most ? found : most;                                                        \
    }

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Sets a bit for each zero byte of a word. It is exact: no carry passes from byte to byte. */
PFD_INLINE uint64_t zeros_of(uint64_t word)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t zeros = ~(((word & low) + low) | word | low) >> 7;
    return zeros * UINT64_C(0x0102040810204080) >> 56;
}

PFD_INLINE masks look_plain(const uint8_t *text, uint8_t delimiter, uint8_t quote)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    masks m = {0};
    for (int i = 0; i < block_bytes; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, sizeof word);
        m.delimiters |= zeros_of(word ^ (ones * delimiter)) << i;
        m.quotes |= zeros_of(word ^ (ones * quote)) << i;
    }
    return m;
}
#else
PFD_INLINE masks look_plain(const uint8_t *text, uint8_t delimiter, uint8_t quote)
{
    masks m = {0};
    for (int i = 0; i < block_bytes; i++) {
        m.delimiters |= (uint64_t)(text[i] == delimiter) << i;
        m.quotes |= (uint64_t)(text[i] == quote) << i;
    }
    return m;
}
#endif

static int64_t split_plain(const uint8_t *text, int64_t size, uint8_t delimiter, uint8_t quote,
                           int64_t most, uint32_t *ends, int32_t *has_quote)
{
    SPLIT(look_plain)
}

#if defined(__AARCH64EL__)
PFD_INLINE masks look_neon(const uint8_t *text, uint8_t delimiter, uint8_t quote)
{
    pfd_bytes16 delimiters[4], quotes[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        pfd_bytes16 bytes = pfd_load16(text + 16 * i);
        delimiters[i] = (pfd_bytes16)(bytes == delimiter);
        quotes[i] = (pfd_bytes16)(bytes == quote);
    }
    return (masks){pfd_bits64(delimiters), pfd_bits64(quotes)};
}

static int64_t split_neon(const uint8_t *text, int64_t size, uint8_t delimiter, uint8_t quote,
                          int64_t most, uint32_t *ends, int32_t *has_quote)
{
    SPLIT(look_neon)
}
#elif defined(__x86_64__)

PFD_TARGET_AVX2 PFD_INLINE masks look_avx2(const uint8_t *text, uint8_t delimiter, uint8_t quote)
{
    __m256i low = _mm256_loadu_si256((const void *)text);
    __m256i high = _mm256_loadu_si256((const void *)(text + 32));
    __m256i d = _mm256_set1_epi8((char)delimiter), q = _mm256_set1_epi8((char)quote);
    uint32_t d0 = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, d));
    uint32_t d1 = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, d));
    uint32_t q0 = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, q));
    uint32_t q1 = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, q));
    return (masks){d0 | (uint64_t)d1 << 32, q0 | (uint64_t)q1 << 32};
}

PFD_TARGET_AVX2 static int64_t split_avx2(const uint8_t *text, int64_t size, uint8_t delimiter,
                                          uint8_t quote, int64_t most, uint32_t *ends,
                                          int32_t *has_quote)
{
    SPLIT(look_avx2)
}

PFD_TARGET_AVX512 PFD_INLINE masks look_avx512(const uint8_t *text, uint8_t delimiter,
                                                uint8_t quote)
{
    __m512i bytes = _mm512_loadu_si512((const void *)text);
    return (masks){_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)delimiter)),
                   _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)quote))};
}

PFD_TARGET_AVX512 static int64_t split_avx512(const uint8_t *text, int64_t size, uint8_t delimiter,
                                              uint8_t quote, int64_t most, uint32_t *ends,
                                              int32_t *has_quote)
{
    SPLIT(look_avx512)
}
#endif

pfd_csv_split_fn pfd_csv_split_at(int32_t simd_level)
{
#if defined(__x86_64__)
    if (simd_level >= PFD_SIMD_AVX512) return split_avx512;
    if (simd_level == PFD_SIMD_AVX2) return split_avx2;
#elif defined(__AARCH64EL__)
    if (simd_level == PFD_SIMD_NEON) return split_neon;
#endif
    (void)simd_level;
    return split_plain;
}

pfd_csv_split_fn pfd_csv_split_best(void)
{
    return pfd_csv_split_at(pfd_simd_level());
}
