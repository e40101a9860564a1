/* Pairs of decimal numbers with AVX2: as number_pairs_avx512.c does it, with other ways to align
 * digits and to make doubles of integers. */
#include "parse/pair_notes.h"

#if defined(__x86_64__)
#include <stddef.h>
#include <string.h>

#define TARGET PFD_TARGET_AVX2 __attribute__((no_sanitize("address", "thread")))

TARGET PFD_INLINE uint64_t equal_bytes(const __m256i text[2], char byte)
{
    __m256i bytes = _mm256_set1_epi8(byte);
    uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(text[0], bytes));
    uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(text[1], bytes));
    return low | (uint64_t)high << 32;
}

TARGET PFD_INLINE uint64_t digit_bytes(const __m256i text[2])
{
    uint32_t found[2];
    for (int i = 0; i < 2; i++) {
        __m256i value = _mm256_sub_epi8(text[i], _mm256_set1_epi8('0'));
        __m256i capped = _mm256_min_epu8(value, _mm256_set1_epi8(9));
        found[i] = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(value, capped));
    }
    return found[0] | (uint64_t)found[1] << 32;
}

/* The last n bytes of 32 set, n <= 64. */
TARGET PFD_INLINE __m256i last_bytes(uint64_t n)
{
    const __m256i places =
        _mm256_setr_epi8(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13,
                         12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_cmpgt_epi8(_mm256_set1_epi8((char)n), places);
}

/* The digits of a number that ends at `end`, aligned to the end of the vector, zeros before them:
 * those after the point as they stand, those before it moved by one. */
TARGET PFD_INLINE __m256i align_digits(const uint8_t *end, uint64_t digits, uint64_t scale,
                                       uint64_t has_point)
{
    __m256i after = _mm256_loadu_si256((const void *)(end - 32));
    __m256i before = _mm256_loadu_si256((const void *)(end - 33));
    __m256i text = _mm256_blendv_epi8(before, after, last_bytes(has_point ? scale : 32));
    return _mm256_and_si256(_mm256_sub_epi8(text, _mm256_set1_epi8('0')), last_bytes(digits));
}

/* Neighbouring digits to pairs, pairs to fours. */
TARGET PFD_INLINE __m256i join_digits(__m256i digits)
{
    __m256i pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010a));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00010064));
}

/* The upper sixteen digits of both numbers of a record, then the lower ones. */
TARGET PFD_INLINE __m256i join_numbers(__m256i one, __m256i other)
{
    __m256i eights =
        _mm256_madd_epi16(_mm256_packus_epi32(one, other), _mm256_set1_epi32(0x00012710));
    return _mm256_add_epi64(_mm256_mul_epu32(eights, _mm256_set1_epi64x(100000000)),
                            _mm256_srli_epi64(eights, 32));
}

TARGET PFD_INLINE void look_at(const pfd_record *record, pfd_pair_text *out, pfd_pair_notes *notes,
                               int64_t i)
{
    pfd_pair_block block = pfd_block_of_pair(record);
    const __m256i text[2] = {_mm256_loadu_si256((const void *)block.data),
                             _mm256_loadu_si256((const void *)(block.data + 32))};
    _mm256_storeu_si256((void *)out->text, text[0]);
    _mm256_storeu_si256((void *)(out->text + 32), text[1]);
    const pfd_pair_masks masks = {
        .digits = digit_bytes(text) & block.inside,
        .comma = equal_bytes(text, ',') & block.inside,
        .points = equal_bytes(text, '.') & block.inside,
        .minus = equal_bytes(text, '-') & block.inside,
    };
    pfd_note_text(&masks, &block, out, notes, i);
}

TARGET PFD_INLINE __m256i parse_digits(const pfd_pair_text *text)
{
    __m256i numbers[2];
    for (int i = 0; i < 2; i++) {
        const uint8_t *end = (const uint8_t *)text + offsetof(pfd_pair_text, text) + text->ends[i];
        numbers[i] = join_digits(
            align_digits(end, text->place.digits[i], text->place.scale[i], text->points[i]));
    }
    return join_numbers(numbers[0], numbers[1]);
}

/* As divide() in number_pairs.c, whose comment says why; the mantissa is
 * upper * 10^16 + lower. */
TARGET PFD_INLINE __m256d divide(__m256i upper, __m256i lower, const uint8_t scales[4],
                                 int *doubtful)
{
    const __m256i half = _mm256_set1_epi64x(10000000000000000 & UINT32_MAX);
    const __m256i other_half = _mm256_set1_epi64x(10000000000000000 >> 32);
    __m256i product = _mm256_add_epi64(_mm256_mul_epu32(upper, half),
                                       _mm256_slli_epi64(_mm256_mul_epu32(upper, other_half), 32));
    __m256i mantissa = _mm256_add_epi64(product, lower);

    /* Its halves as doubles: their bits appended to those of 2^84 and of 2^52. */
    const __m256d high_base = _mm256_set1_pd(0x1p84), low_base = _mm256_set1_pd(0x1p52);
    __m256d high_half =
        _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(_mm256_srli_epi64(mantissa, 32),
                                                          _mm256_castpd_si256(high_base))),
                      high_base);
    __m256d low_half = _mm256_sub_pd(
        _mm256_castsi256_pd(_mm256_blend_epi32(mantissa, _mm256_castpd_si256(low_base), 0xaa)),
        low_base);
    __m256d high = _mm256_add_pd(high_half, low_half);
    __m256d low = _mm256_sub_pd(low_half, _mm256_sub_pd(high, high_half));

    __m256d power = _mm256_setr_pd(pfd_powers[scales[0] & 63], pfd_powers[scales[1] & 63],
                                   pfd_powers[scales[2] & 63], pfd_powers[scales[3] & 63]);
    __m256d reciprocal =
        _mm256_setr_pd(pfd_reciprocals[scales[0] & 63], pfd_reciprocals[scales[1] & 63],
                       pfd_reciprocals[scales[2] & 63], pfd_reciprocals[scales[3] & 63]);
    __m256d quotient = _mm256_mul_pd(high, reciprocal);
    __m256d remainder = _mm256_fnmadd_pd(quotient, power, high);
    __m256d rest = _mm256_mul_pd(_mm256_add_pd(remainder, low), reciprocal);
    __m256d most = _mm256_fmadd_pd(rest, _mm256_set1_pd(1 + 0x1p-50), quotient);
    __m256d least = _mm256_fmadd_pd(rest, _mm256_set1_pd(1 - 0x1p-50), quotient);
    __m256d differ = _mm256_cmp_pd(most, least, _CMP_NEQ_UQ);
    __m256i large = _mm256_cmpgt_epi64(upper, _mm256_set1_epi64x(999)); /* over 10^19 */
    *doubtful = _mm256_movemask_pd(differ) | _mm256_movemask_pd(_mm256_castsi256_pd(large));
    return most;
}

/* The values of two records; returns those that are to be left, as bits. */
TARGET PFD_INLINE uint64_t convert(const __m256i joined[2], const pfd_pair_notes *notes, int64_t i,
                                   int64_t n, double *rows)
{
    __m256i upper = _mm256_permute2x128_si256(joined[0], joined[1], 0x20);
    __m256i lower = _mm256_permute2x128_si256(joined[0], joined[1], 0x31);
    const uint8_t *scales = notes->scales[i];
    int doubtful;
    uint32_t bits;
    __m256d value = divide(upper, lower, scales, &doubtful);
    memcpy(&bits, scales, sizeof bits);
    __m256i signs = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)bits));
    __m256i large = _mm256_cmpgt_epi64(_mm256_and_si256(signs, _mm256_set1_epi64x(127)),
                                       _mm256_set1_epi64x(PFD_MOST_SCALE));
    doubtful |= _mm256_movemask_pd(_mm256_castsi256_pd(large));
    __m256i sign = _mm256_slli_epi64(_mm256_srli_epi64(signs, 7), 63);
    value = _mm256_or_pd(value, _mm256_castsi256_pd(sign));
    if (i + 1 < n)
        _mm256_storeu_pd(rows + 2 * i, value);
    else
        _mm_storeu_pd(rows + 2 * i, _mm256_castpd256_pd128(value));
    return (uint64_t)((doubtful & 3) != 0 || notes->odd[i] != 0) |
           (uint64_t)(doubtful >> 2 != 0 || notes->odd[i + 1] != 0) << 1;
}

TARGET uint64_t pfd_pairs_avx2(const pfd_record *records, int64_t n, double *rows)
{
    pfd_pair_text texts[PFD_PAIRS_AT_ONCE];
    __m256i joined[PFD_PAIRS_AT_ONCE];
    pfd_pair_notes notes;
    uint64_t left = 0;
    for (int64_t i = 0; i < n; i++) look_at(&records[i], &texts[i], &notes, i);
    for (int64_t i = 0; i < n; i++) joined[i] = parse_digits(&texts[i]);
    for (int64_t i = 0; i < n; i += 2) left |= convert(joined + i, &notes, i, n, rows) << i;
    return _bzhi_u64(left, (unsigned)n);
}
#endif
