/* Pairs of decimal numbers with AVX-512: the digits of both numbers at once, then the values of
 * eight numbers at once, without a branch that depends on the text. */
#include "parse/pair_notes.h"

#if defined(__x86_64__)
/* A mask in a general register, and only there: else GCC loads it again for every use. */
PFD_TARGET_AVX512 PFD_INLINE uint64_t bits_of(__mmask64 mask)
{
    uint64_t bits = _cvtmask64_u64(mask);
    __asm__("" : "+r"(bits));
    return bits;
}

/* The digits of a record's two numbers, each ending one half of the vector, zeros before them. */
PFD_TARGET_AVX512 PFD_INLINE __m512i align_digits(const pfd_record *record, pfd_pair_notes *notes,
                                                  int64_t i)
{
    pfd_pair_block block = pfd_block_of_pair(record);
    __m512i text = _mm512_maskz_loadu_epi8(_cvtu64_mask64(block.inside), block.data);
    __m512i values = _mm512_sub_epi8(text, _mm512_set1_epi8('0'));
    __mmask64 are_digits = _mm512_cmple_epu8_mask(values, _mm512_set1_epi8(9));
    const pfd_pair_masks masks = {
        .digits = bits_of(are_digits),
        .comma = bits_of(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(','))),
        .points = bits_of(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('.'))),
        .minus = bits_of(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('-'))),
    };
    pfd_pair_place place = pfd_note_pair(&masks, &block, notes, i);
    uint64_t places =
        (uint64_t)(UINT32_MAX << (-place.digits[0] & 31)) | UINT64_MAX << (-place.digits[1] & 63);
    return _mm512_maskz_expand_epi8(places, _mm512_maskz_compress_epi8(are_digits, values));
}

/* Neighbouring digits to pairs, pairs to fours: 16 numbers below 10^4. */
PFD_TARGET_AVX512 PFD_INLINE __m512i join_digits(__m512i digits)
{
    __m512i pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010a));
    return _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00010064));
}

/* Fours of two records to eights and sixteens: of each number, lane by lane, the upper and the
 * lower sixteen digits of the one record beside those of the other. */
PFD_TARGET_AVX512 PFD_INLINE __m512i join_records(__m512i one, __m512i other)
{
    __m512i fours = _mm512_packus_epi32(one, other);
    __m512i eights = _mm512_madd_epi16(fours, _mm512_set1_epi32(0x00012710));
    return _mm512_add_epi64(_mm512_mul_epu32(eights, _mm512_set1_epi64(100000000)),
                            _mm512_srli_epi64(eights, 32));
}

/* mantissa / 10^scale of eight numbers, of which *doubtful are not certain to be rounded right.
 *
 * The mantissa is high + low, two doubles.  quotient is high / 10^scale but for an error of two
 * units in the last place at most, so that the remainder is exact (a multiple of
 * 2^scale units, less than 2 * 5^22 < 2^53 of them).  What is left to add is known to within
 * 3 * 2^-53 of itself: where both ends of a wider interval round alike, so does the true value. */
PFD_TARGET_AVX512 PFD_INLINE __m512d divide(__m512i mantissa, __m512i scale, __mmask8 *doubtful)
{
    __mmask8 large = _mm512_cmpge_epu64_mask(scale, _mm512_set1_epi64(16));
    __m512d power =
        _mm512_permutex2var_pd(_mm512_load_pd(pfd_powers), scale, _mm512_load_pd(pfd_powers + 8));
    __m512d reciprocal = _mm512_permutex2var_pd(_mm512_load_pd(pfd_reciprocals), scale,
                                                _mm512_load_pd(pfd_reciprocals + 8));
    power = _mm512_mask_permutexvar_pd(power, large, scale, _mm512_load_pd(pfd_powers + 16));
    reciprocal =
        _mm512_mask_permutexvar_pd(reciprocal, large, scale, _mm512_load_pd(pfd_reciprocals + 16));

    __m512d high = _mm512_cvtepu64_pd(mantissa);
    __m512d low = _mm512_cvtepi64_pd(_mm512_sub_epi64(mantissa, _mm512_cvttpd_epu64(high)));
    __m512d quotient = _mm512_mul_pd(high, reciprocal);
    __m512d remainder = _mm512_fnmadd_pd(quotient, power, high);
    __m512d rest = _mm512_mul_pd(_mm512_add_pd(remainder, low), reciprocal);
    __m512d upper = _mm512_fmadd_pd(rest, _mm512_set1_pd(1 + 0x1p-50), quotient);
    __m512d lower = _mm512_fmadd_pd(rest, _mm512_set1_pd(1 - 0x1p-50), quotient);
    *doubtful = _mm512_cmp_pd_mask(upper, lower, _CMP_NEQ_UQ);
    return upper;
}

/* Bits of numbers to bits of records that have one of them. */
PFD_INLINE uint64_t records_of(uint64_t numbers)
{
    numbers |= numbers >> 1;
    return (numbers & 1) | (numbers >> 1 & 2) | (numbers >> 2 & 4) | (numbers >> 3 & 8);
}

/* The values of four records from what join_records() made of them. */
PFD_TARGET_AVX512 PFD_INLINE uint64_t convert(const __m512i fours[4], const pfd_pair_notes *notes,
                                              int64_t i, __mmask8 wanted, double *rows)
{
    const __m512i joined[2] = {join_records(fours[0], fours[1]), join_records(fours[2], fours[3])};
    const __m512i uppers = _mm512_setr_epi64(0, 4, 1, 5, 8, 12, 9, 13);
    const __m512i lowers = _mm512_setr_epi64(2, 6, 3, 7, 10, 14, 11, 15);
    __m512i upper = _mm512_permutex2var_epi64(joined[0], uppers, joined[1]);
    __m512i lower = _mm512_permutex2var_epi64(joined[0], lowers, joined[1]);
    __m512i mantissa =
        _mm512_add_epi64(_mm512_mullo_epi64(upper, _mm512_set1_epi64(10000000000000000)), lower);
    __m512i signs = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)&notes->scales[i]));
    __m512i scale = _mm512_and_si512(signs, _mm512_set1_epi64(127));
    __mmask8 doubtful;
    __m512d value = divide(mantissa, scale, &doubtful);
    __m512i sign = _mm512_slli_epi64(_mm512_srli_epi64(signs, 7), 63);
    value = _mm512_castsi512_pd(_mm512_or_si512(_mm512_castpd_si512(value), sign));
    doubtful |= _mm512_cmpge_epu64_mask(upper, _mm512_set1_epi64(1000)); /* mantissa over 10^19 */
    doubtful |= _mm512_cmpgt_epu64_mask(scale, _mm512_set1_epi64(PFD_MOST_SCALE));
    _mm512_mask_storeu_pd(rows + 2 * i, wanted, value);
    __m256i odd = _mm256_loadu_si256((const void *)&notes->odd[i]);
    return records_of(doubtful) | _mm256_test_epi64_mask(odd, odd);
}

PFD_TARGET_AVX512 uint64_t pfd_pairs_avx512(const pfd_record *records, int64_t n, double *rows)
{
    __m512i fours[PFD_PAIRS_AT_ONCE];
    pfd_pair_notes notes;
    uint64_t left = 0;
    for (int64_t i = 0; i < n; i++) fours[i] = join_digits(align_digits(&records[i], &notes, i));
    for (int64_t i = 0; i < n; i += 4) {
        __mmask8 wanted = (__mmask8)_bzhi_u32(255, (unsigned)(2 * (n - i)));
        left |= convert(fours + i, &notes, i, wanted, rows) << i;
    }
    return _bzhi_u64(left, (unsigned)n);
}
#endif
