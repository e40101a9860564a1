/* Numbers of up to 32 bytes by vectors of 16: the point is taken out, the digits are joined, and an
 * exact division follows.  All others take the way of pfd_parse_double(). */
#include "text/csv_doubles.h"

#include "core/simd.h"
#include "text/pair_notes.h"
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
#define TARGET __attribute__((target("avx2,fma,bmi,bmi2")))
#define INLINE PFD_INLINE

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
    *out = (double)(int64_t)mantissa / pfd_powers[scale];
    return fine == 0xffff && end - begin > has_point && mantissa <= UINT64_C(1) << 53;
}

/* mantissa / 10^scale, mantissa < 2^63; 0 where it is not certain to be rounded right.  The steps,
 * and why they are exact, are those of divide() in number_pairs.c. */
TARGET INLINE int divide(uint64_t mantissa, int scale, double *out)
{
    double power = pfd_powers[scale], reciprocal = pfd_reciprocals[scale];
    double high = (double)(int64_t)mantissa;
    double low = (double)((int64_t)mantissa - (int64_t)high);
    double quotient = high * reciprocal;
    double remainder = __builtin_fma(-quotient, power, high);
    double rest = (remainder + low) * reciprocal;
    *out = __builtin_fma(rest, 1 + 0x1p-50, quotient);
    return *out == __builtin_fma(rest, 1 - 0x1p-50, quotient);
}

/* The last 32 bytes before `end` in two vectors; what lies before the text is undefined. */
TARGET INLINE void load_two(const uint8_t *text, int64_t end, __m128i *high, __m128i *low)
{
    uint8_t copy[32] = {0};
    const uint8_t *from = text + end - 32;
    if (end < 32) {
        memcpy(copy + 32 - end, text, (size_t)end);
        from = copy;
    }
    *high = _mm_loadu_si128((const void *)from);
    *low = _mm_loadu_si128((const void *)(from + 16));
}

/* The same with 17 to 32 bytes, and up to 18 digits that count. */
TARGET INLINE int parse_long(const uint8_t *text, int64_t begin, int64_t end, double *out)
{
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i point_byte = _mm_set1_epi8('.'), zero = _mm_set1_epi8('0');
    int before = (int)(31 - (end - begin)); /* last place that is not of the number, below 15 */
    __m128i high, low;
    load_two(text, end, &high, &low);
    __m128i inside = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)before));
    uint32_t points =
        (uint32_t)_mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(high, point_byte), inside)) |
        (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, point_byte)) << 16;
    int has_point = points != 0, point = has_point ? (int)_tzcnt_u32(points) : -1;
    int scale = has_point ? 31 - point : 0;
    if (scale > PFD_MOST_SCALE) return 0;

    __m128i behind_high = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)point));
    __m128i behind_low = _mm_cmpgt_epi8(places, _mm_set1_epi8((char)(point - 16)));
    low = _mm_blendv_epi8(_mm_alignr_epi8(low, high, 15), low, behind_low);
    high = _mm_blendv_epi8(_mm_slli_si128(high, 1), high, behind_high);
    high = _mm_sub_epi8(high, zero);
    low = _mm_sub_epi8(low, zero);
    high = _mm_and_si128(high, _mm_cmpgt_epi8(places, _mm_set1_epi8((char)(before + has_point))));
    __m128i largest = _mm_max_epu8(high, low), nine = _mm_set1_epi8(9);
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(largest, nine), nine)) != 0xffff) return 0;
    uint64_t upper = join_digits(high);
    if (upper >= 900) return 0; /* mantissa of 9 * 10^18 or more */
    return divide(upper * UINT64_C(10000000000000000) + join_digits(low), scale, out);
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
        else if (digits > 16 && digits <= 32 && parse_long(text, begin + minus, end, &value))
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
