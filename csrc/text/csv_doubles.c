/* Numbers of up to 16 digits by vectors of 16 bytes: the point is taken out, the digits are joined,
 * and one exact division follows.  All others take the way of pfd_parse_double(). */
#include "text/csv_doubles.h"

#include "core/simd.h"
#include "text/parse_double.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* 0 where the field is not a finite number. */
static int parse_any(const uint8_t *text, int64_t begin, int64_t end, double *out)
{
    int64_t used = pfd_parse_double((const char *)text + begin, end - begin, out);
    return used > 0 && used == end - begin && isfinite(*out);
}

static int64_t doubles_plain(const uint8_t *text, int64_t size, int64_t begin, const uint32_t *ends,
                             int64_t n, double *out)
{
    (void)size;
    for (int64_t i = 0; i < n; i++) {
        if (!parse_any(text, begin, ends[i], &out[i])) return i;
        begin = (int64_t)ends[i] + 1;
    }
    return n;
}

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,bmi,bmi2")))
#define INLINE static inline __attribute__((always_inline))

static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* The bytes [begin, end), 1 to 16 of them, at the end of a vector; what lies before is undefined.
 * Nothing outside the text is touched. */
TARGET INLINE __m128i load_to_end(const uint8_t *text, int64_t size, int64_t begin, int64_t end)
{
    static const uint8_t moves[32] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
                                      128, 128, 128, 128, 128, 0,   1,   2,   3,   4,   5,
                                      6,   7,   8,   9,   10,  11,  12,  13,  14,  15};
    if (end >= 16) return _mm_loadu_si128((const void *)(text + end - 16));
    if (begin + 16 <= size) {
        __m128i move = _mm_loadu_si128((const void *)(moves + (end - begin)));
        return _mm_shuffle_epi8(_mm_loadu_si128((const void *)(text + begin)), move);
    }
    uint8_t copy[16] = {0};
    memcpy(copy + 16 - (end - begin), text + begin, (size_t)(end - begin));
    return _mm_loadu_si128((const void *)copy);
}

/* Sixteen digits, each a byte, to their number. */
TARGET INLINE uint64_t join_digits(__m128i digits)
{
    __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010a));
    __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064));
    __m128i packed = _mm_packus_epi32(fours, fours);
    __m128i eights = _mm_madd_epi16(packed, _mm_set1_epi32(0x00012710));
    uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
    return (both & UINT32_MAX) * 100000000 + (both >> 32);
}

/* Digits with at most one point, 1 to 16 bytes; 0 where it is anything else. */
TARGET INLINE int parse_short(const uint8_t *text, int64_t size, int64_t begin, int64_t end,
                              double *out)
{
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int before = (int)(15 - (end - begin)); /* last place that is not of the number */
    __m128i bytes = load_to_end(text, size, begin, end);
    __m128i inside = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)before));
    __m128i points = _mm_and_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('.')), inside);
    uint32_t point_bits = (uint32_t)_mm_movemask_epi8(points);
    int has_point = point_bits != 0;
    int point = has_point ? (int)_tzcnt_u32(point_bits) : -1;

    __m128i behind = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)point));
    __m128i joined = _mm_blendv_epi8(_mm_slli_si128(bytes, 1), bytes, behind);
    __m128i digits = _mm_sub_epi8(joined, _mm_set1_epi8('0'));
    __m128i kept = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)(before + has_point)));
    digits = _mm_and_si128(digits, kept);
    __m128i capped = _mm_min_epu8(digits, _mm_set1_epi8(9));
    uint32_t fine = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(digits, capped));
    uint64_t mantissa = join_digits(digits);
    int scale = has_point ? 15 - point : 0;
    *out = (double)(int64_t)mantissa / powers[scale];
    return fine == 0xffff && end - begin > has_point && mantissa <= UINT64_C(1) << 53;
}

TARGET static int64_t doubles_avx2(const uint8_t *text, int64_t size, int64_t begin,
                                   const uint32_t *ends, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t end = ends[i];
        if (end <= begin) return i;
        int64_t minus = text[begin] == '-', digits = end - begin - minus;
        double value;
        if (digits >= 1 && digits <= 16 && parse_short(text, size, begin + minus, end, &value))
            out[i] = minus ? -value : value;
        else if (!parse_any(text, begin, end, &out[i]))
            return i;
        begin = end + 1;
    }
    return n;
}
#endif

pfd_csv_doubles_fn pfd_csv_doubles_at(int32_t simd_level)
{
#if defined(__x86_64__)
    if (simd_level >= PFD_SIMD_AVX2) return doubles_avx2;
#endif
    (void)simd_level;
    return doubles_plain;
}

pfd_csv_doubles_fn pfd_csv_doubles_best(void)
{
    return pfd_csv_doubles_at(pfd_simd_level());
}
