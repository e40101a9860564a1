/* Parses numbers of up to 32 bytes with vectors of 16 bytes: it removes the decimal point, joins
 * the digits, and divides exactly.  All other numbers go to pfd_parse_double(). */
#include "formats/csv/csv_doubles.h"

#include "core/bytes.h"
#include "core/cpu.h"
#include "parse/number_pairs.h"
#include "parse/number_text.h"

#include <math.h>
#include <string.h>

/* Returns 0 if the field is not a finite number. */
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

#if defined(__x86_64__) || defined(__AARCH64EL__)

/* ---- What is not the same on all processors -------------------------------------------------- */
#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET PFD_TARGET_AVX2

/* The bytes at these places; 0 where the place is 128. */
TARGET PFD_INLINE pfd_bytes16 bytes_at(pfd_bytes16 bytes, pfd_bytes16 places)
{
    return (pfd_bytes16)_mm_shuffle_epi8((__m128i)bytes, (__m128i)places);
}

/* Shifts all bytes of `low` by one place; the last byte of `high` becomes the first. */
TARGET PFD_INLINE pfd_bytes16 move_on(pfd_bytes16 high, pfd_bytes16 low)
{
    return (pfd_bytes16)_mm_alignr_epi8((__m128i)low, (__m128i)high, 15);
}

/* `one` where the mask is set, else `other`. */
TARGET PFD_INLINE pfd_bytes16 choose(pfd_bytes16 mask, pfd_bytes16 one, pfd_bytes16 other)
{
    return (pfd_bytes16)_mm_blendv_epi8((__m128i)other, (__m128i)one, (__m128i)mask);
}

/* The number of sixteen digits, one per byte. */
TARGET PFD_INLINE uint64_t join_digits(pfd_bytes16 digits)
{
    __m128i pairs = _mm_maddubs_epi16((__m128i)digits, _mm_set1_epi16(0x010a));
    __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064));
    __m128i packed = _mm_packus_epi32(fours, fours);
    __m128i eights = _mm_madd_epi16(packed, _mm_set1_epi32(0x00012710));
    uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
    return (both & UINT32_MAX) * 100000000 + (both >> 32);
}
#else
#define TARGET

PFD_INLINE pfd_bytes16 bytes_at(pfd_bytes16 bytes, pfd_bytes16 places)
{
    return vqtbl1q_u8(bytes, places);
}

PFD_INLINE pfd_bytes16 move_on(pfd_bytes16 high, pfd_bytes16 low)
{
    return vextq_u8(high, low, 15);
}

PFD_INLINE pfd_bytes16 choose(pfd_bytes16 mask, pfd_bytes16 one, pfd_bytes16 other)
{
    return vbslq_u8(mask, one, other);
}

PFD_INLINE uint64_t join_digits(pfd_bytes16 digits)
{
    uint64x2_t eights = pfd_join_eights(digits);
    return vgetq_lane_u64(eights, 0) * 100000000 + vgetq_lane_u64(eights, 1);
}
#endif

/* ---- Numbers --------------------------------------------------------------------------------- */

/* The place of the first byte that is 255; all others are 0.  Returns 16 if all are 0. */
PFD_INLINE int first16(pfd_bytes16 found)
{
#if defined(__SSE2__)
    return __builtin_ctz((uint32_t)_mm_movemask_epi8((__m128i)found) | UINT32_C(1) << 16);
#else
    uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(found), 4); /* four bits of each byte */
    uint64_t bits = vget_lane_u64(vreinterpret_u64_u8(halves), 0);
    return bits ? __builtin_ctzll(bits) / 4 : 16;
#endif
}

/* The places of a vector after `before`, which may be -1. */
TARGET PFD_INLINE pfd_bytes16 places_after(int before)
{
    typedef int8_t places16 __attribute__((vector_size(16)));
    const places16 places = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return (pfd_bytes16)(places > (int8_t)before);
}

TARGET PFD_INLINE int are_digits(pfd_bytes16 values)
{
    return first16((pfd_bytes16)(values > 9)) == 16;
}

/* The bytes [begin, end), 1 to 16 of them, at the end of a vector; the bytes before them are
 * undefined. Nothing outside the text is read. */
TARGET PFD_INLINE pfd_bytes16 load_to_end(const uint8_t *text, int64_t size, int64_t begin,
                                          int64_t end)
{
    static const uint8_t moves[32] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
                                      128, 128, 128, 128, 128, 0,   1,   2,   3,   4,   5,
                                      6,   7,   8,   9,   10,  11,  12,  13,  14,  15};
    if (end >= 16) return pfd_load16(text + end - 16);
    if (begin + 16 <= size)
        return bytes_at(pfd_load16(text + begin), pfd_load16(moves + (end - begin)));
    uint8_t copy[16] = {0};
    memcpy(copy + 16 - (end - begin), text + begin, (size_t)(end - begin));
    return pfd_load16(copy);
}

/* Parses 1 to 16 bytes of digits with at most one point.  Returns 0 if the text is anything else.
 */
TARGET PFD_INLINE int parse_short(const uint8_t *text, int64_t size, int64_t begin, int64_t end,
                                  double *out)
{
    int before = (int)(15 - (end - begin)); /* last place before the number */
    pfd_bytes16 bytes = load_to_end(text, size, begin, end);
    int point = first16((pfd_bytes16)(bytes == '.') & places_after(before));
    int has_point = point < 16, scale = has_point ? 15 - point : 0;
    if (!has_point) point = -1;

    pfd_bytes16 joined = choose(places_after(point), bytes, move_on(bytes, bytes));
    pfd_bytes16 digits = (joined - '0') & places_after(before + has_point);
    uint64_t mantissa = join_digits(digits);
    *out = (double)(int64_t)mantissa / pfd_powers[scale];
    return are_digits(digits) && end - begin > has_point && mantissa <= UINT64_C(1) << 53;
}

/* Writes mantissa / 10^scale, mantissa < 2^63.  Returns 0 if the result may not be rounded
 * correctly.  divide_avx512() in number_pairs.c has the same steps, and explains why they are
 * exact. */
TARGET PFD_INLINE int divide(uint64_t mantissa, int scale, double *out)
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

/* Parses 17 to 32 bytes with at most one point, and up to 18 digits after leading zeros. */
TARGET PFD_INLINE int parse_long(const uint8_t *text, int64_t begin, int64_t end, double *out)
{
    int before = (int)(31 - (end - begin)); /* last place before the number, below 15 */
    uint8_t copy[32] = {0};
    const uint8_t *from = text + end - 32;
    if (end < 32) {
        memcpy(copy + 32 - end, text, (size_t)end);
        from = copy;
    }
    pfd_bytes16 high = pfd_load16(from), low = pfd_load16(from + 16);
    int point = first16((pfd_bytes16)(high == '.') & places_after(before));
    if (point == 16) point += first16((pfd_bytes16)(low == '.'));
    int has_point = point < 32, scale = has_point ? 31 - point : 0;
    if (scale > PFD_MOST_SCALE) return 0;
    if (!has_point) point = -1;

    low = choose(places_after(point - 16), low, move_on(high, low)) - '0';
    high = choose(places_after(point), high, move_on(high, high)) - '0';
    high &= places_after(before + has_point);
    if (!are_digits(high) || !are_digits(low)) return 0;
    uint64_t upper = join_digits(high);
    if (upper >= 900) return 0; /* mantissa of 9 * 10^18 or more */
    return divide(upper * UINT64_C(10000000000000000) + join_digits(low), scale, out);
}

TARGET static int64_t doubles_vectors(const uint8_t *text, int64_t size, int64_t begin,
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
#if defined(__x86_64__) || defined(__AARCH64EL__)
    if (simd_level > PFD_SIMD_PLAIN) return doubles_vectors;
#endif
    (void)simd_level;
    return doubles_plain;
}

pfd_csv_doubles_fn pfd_csv_doubles_best(void)
{
    return pfd_csv_doubles_at(pfd_simd_level());
}
