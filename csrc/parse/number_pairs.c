/* Pairs of decimal numbers: from masks of a record's bytes to where its numbers are, by bit
 * operations alone; then the values, by the vectors of the processor. */
#include "parse/number_pairs.h"

#include "core/bytes.h"

#include <stddef.h>
#include <string.h>

/* ---- What is noted of a record --------------------------------------------------------------- */

#if defined(__x86_64__) || defined(__AARCH64EL__)
#if defined(__x86_64__)
#include <immintrin.h>
#define TARGET_BMI __attribute__((target("bmi,bmi2,popcnt")))
#else
#include <arm_neon.h>
#define TARGET_BMI
#endif

/* What the bytes of a record are, a bit each; bit 0 is the first byte of its block. */
typedef struct pair_masks {
    uint64_t digits, comma, points, minus;
} pair_masks;

/* Notes about some records, besides their digits. */
typedef struct pair_notes {
    uint8_t scales[PFD_PAIRS_AT_ONCE][2]; /* for each number: the digits after its point, and 128
                                             for a minus sign */
    uint64_t odd[PFD_PAIRS_AT_ONCE];      /* not 0: the record is left */
} pair_notes;

typedef struct pair_place {
    uint64_t digits[2]; /* how many; more than 32 only where the record is odd */
    uint64_t scale[2];
} pair_place;

/* The lowest bit that is set; 64: none is, which the instructions say by themselves. */
TARGET_BMI PFD_INLINE uint64_t lowest_bit(uint64_t bits)
{
#if defined(__x86_64__)
    return _tzcnt_u64(bits);
#else
    return bits ? (uint64_t)__builtin_ctzll(bits) : 64;
#endif
}

/* The bits but the lowest that is set. */
TARGET_BMI PFD_INLINE uint64_t but_lowest(uint64_t bits)
{
    return bits & (bits - 1);
}

/* The 64 bytes in which a record is looked at, and those that are its own.
 *
 * They are the cache line in which the record lies, or else the 64 bytes from its beginning on.  So
 * all of them can be read, and no load waits for a line without a byte of the record, as it would
 * even with a mask.  The sanitizers that check addresses are turned off for it. */
typedef struct pair_block {
    const uint8_t *data;
    uint64_t offset, size, inside; /* bounds of the record; size may be more than 64 */
} pair_block;

TARGET_BMI PFD_INLINE pair_block block_of_pair(const pfd_record *record)
{
    uint64_t size = (uint64_t)record->size, offset = (uintptr_t)record->data % 64;
    offset &= 0 - (uint64_t)(offset + size <= 64);
    uint64_t inside = UINT64_MAX >> (-size & 63) << offset;
    return (pair_block){record->data - offset, offset, size, inside};
}

TARGET_BMI PFD_INLINE pair_place note_pair(const pair_masks *masks, const pair_block *block,
                                           pair_notes *notes, int64_t i)
{
    uint64_t first = masks->comma - 1; /* the first number, and what comes before */
    uint64_t points1 = masks->points & first, points2 = masks->points & ~first;
    uint64_t last_place = block->offset + block->size - 1;
    pair_place place = {
        .digits = {(uint64_t)__builtin_popcountll(masks->digits & first),
                   (uint64_t)__builtin_popcountll(masks->digits & ~first)},
        .scale = {lowest_bit(masks->comma) - 1 - lowest_bit(points1 | masks->comma >> 1),
                  last_place - lowest_bit(points2 | UINT64_C(1) << (last_place & 63))},
    };
    uint64_t known = masks->digits | masks->comma | masks->points | masks->minus;
    uint64_t signs = (block->inside & (0 - block->inside)) | masks->comma << 1;
    notes->scales[i][0] = (uint8_t)(place.scale[0] | (uint64_t)((masks->minus & first) != 0) << 7);
    notes->scales[i][1] = (uint8_t)(place.scale[1] | (uint64_t)((masks->minus & ~first) != 0) << 7);
    uint64_t second_ones = but_lowest(masks->comma) | but_lowest(points1) | but_lowest(points2);
    notes->odd[i] = (block->inside ^ known) | second_ones | (masks->minus & ~signs) |
                    ((place.digits[0] - 1) | (place.digits[1] - 1)) >> 5 | (block->size - 1) >> 6;
    return place;
}

/* A record as first looked at, where its digits are not taken from it at once. */
typedef struct pair_text {
    uint8_t before[64]; /* not written: its bytes are cut off */
    uint8_t text[64];   /* the block */
    pair_place place;
    uint64_t ends[2];   /* ends of the numbers, in text */
    uint64_t points[2]; /* not 0: has a point */
} pair_text;

TARGET_BMI PFD_INLINE void note_text(const pair_masks *masks, const pair_block *block,
                                     pair_text *out, pair_notes *notes, int64_t i)
{
    uint64_t first = masks->comma - 1;
    out->place = note_pair(masks, block, notes, i);
    out->ends[0] = lowest_bit(masks->comma);
    out->ends[1] = block->size <= 64 ? block->offset + block->size : 64;
    out->points[0] = masks->points & first;
    out->points[1] = masks->points & ~first;
}
#endif

/* ---- AVX-512 --------------------------------------------------------------------------------- */

/* The digits of both numbers at once, then the values of eight numbers at once, without a branch
 * that depends on the text. */

#if defined(__x86_64__)
/* A mask in a general register, and only there: else GCC loads it again for every use. */
PFD_TARGET_AVX512 PFD_INLINE uint64_t bits_of_avx512(__mmask64 mask)
{
    uint64_t bits = _cvtmask64_u64(mask);
    __asm__("" : "+r"(bits));
    return bits;
}

/* The digits of a record's two numbers, each ending one half of the vector, zeros before them. */
PFD_TARGET_AVX512 PFD_INLINE __m512i align_digits_avx512(const pfd_record *record,
                                                         pair_notes *notes, int64_t i)
{
    pair_block block = block_of_pair(record);
    __m512i text = _mm512_maskz_loadu_epi8(_cvtu64_mask64(block.inside), block.data);
    __m512i values = _mm512_sub_epi8(text, _mm512_set1_epi8('0'));
    __mmask64 are_digits = _mm512_cmple_epu8_mask(values, _mm512_set1_epi8(9));
    const pair_masks masks = {
        .digits = bits_of_avx512(are_digits),
        .comma = bits_of_avx512(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(','))),
        .points = bits_of_avx512(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('.'))),
        .minus = bits_of_avx512(_mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('-'))),
    };
    pair_place place = note_pair(&masks, &block, notes, i);
    uint64_t places =
        (uint64_t)(UINT32_MAX << (-place.digits[0] & 31)) | UINT64_MAX << (-place.digits[1] & 63);
    return _mm512_maskz_expand_epi8(places, _mm512_maskz_compress_epi8(are_digits, values));
}

/* Neighbouring digits to pairs, pairs to fours: 16 numbers below 10^4. */
PFD_TARGET_AVX512 PFD_INLINE __m512i join_digits_avx512(__m512i digits)
{
    __m512i pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010a));
    return _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00010064));
}

/* Fours of two records to eights and sixteens: of each number, lane by lane, the upper and the
 * lower sixteen digits of the one record beside those of the other. */
PFD_TARGET_AVX512 PFD_INLINE __m512i join_records_avx512(__m512i one, __m512i other)
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
PFD_TARGET_AVX512 PFD_INLINE __m512d divide_avx512(__m512i mantissa, __m512i scale,
                                                   __mmask8 *doubtful)
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
PFD_INLINE uint64_t records_of_avx512(uint64_t numbers)
{
    numbers |= numbers >> 1;
    return (numbers & 1) | (numbers >> 1 & 2) | (numbers >> 2 & 4) | (numbers >> 3 & 8);
}

/* The values of four records from what join_records_avx512() made of them. */
PFD_TARGET_AVX512 PFD_INLINE uint64_t convert_avx512(const __m512i fours[4],
                                                     const pair_notes *notes, int64_t i,
                                                     __mmask8 wanted, double *rows)
{
    const __m512i joined[2] = {join_records_avx512(fours[0], fours[1]),
                               join_records_avx512(fours[2], fours[3])};
    const __m512i uppers = _mm512_setr_epi64(0, 4, 1, 5, 8, 12, 9, 13);
    const __m512i lowers = _mm512_setr_epi64(2, 6, 3, 7, 10, 14, 11, 15);
    __m512i upper = _mm512_permutex2var_epi64(joined[0], uppers, joined[1]);
    __m512i lower = _mm512_permutex2var_epi64(joined[0], lowers, joined[1]);
    __m512i mantissa =
        _mm512_add_epi64(_mm512_mullo_epi64(upper, _mm512_set1_epi64(10000000000000000)), lower);
    __m512i signs = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)&notes->scales[i]));
    __m512i scale = _mm512_and_si512(signs, _mm512_set1_epi64(127));
    __mmask8 doubtful;
    __m512d value = divide_avx512(mantissa, scale, &doubtful);
    __m512i sign = _mm512_slli_epi64(_mm512_srli_epi64(signs, 7), 63);
    value = _mm512_castsi512_pd(_mm512_or_si512(_mm512_castpd_si512(value), sign));
    doubtful |= _mm512_cmpge_epu64_mask(upper, _mm512_set1_epi64(1000)); /* mantissa over 10^19 */
    doubtful |= _mm512_cmpgt_epu64_mask(scale, _mm512_set1_epi64(PFD_MOST_SCALE));
    _mm512_mask_storeu_pd(rows + 2 * i, wanted, value);
    __m256i odd = _mm256_loadu_si256((const void *)&notes->odd[i]);
    return records_of_avx512(doubtful) | _mm256_test_epi64_mask(odd, odd);
}

PFD_TARGET_AVX512 static uint64_t pairs_avx512(const pfd_record *records, int64_t n, double *rows)
{
    __m512i fours[PFD_PAIRS_AT_ONCE];
    pair_notes notes;
    uint64_t left = 0;
    for (int64_t i = 0; i < n; i++)
        fours[i] = join_digits_avx512(align_digits_avx512(&records[i], &notes, i));
    for (int64_t i = 0; i < n; i += 4) {
        __mmask8 wanted = (__mmask8)_bzhi_u32(255, (unsigned)(2 * (n - i)));
        left |= convert_avx512(fours + i, &notes, i, wanted, rows) << i;
    }
    return _bzhi_u64(left, (unsigned)n);
}

/* ---- AVX2 ------------------------------------------------------------------------------------ */

/* As with AVX-512, with other ways to align digits and to make doubles of integers. */

#define TARGET_AVX2 PFD_TARGET_AVX2 __attribute__((no_sanitize("address", "thread")))

TARGET_AVX2 PFD_INLINE uint64_t equal_bytes_avx2(const __m256i text[2], char byte)
{
    __m256i bytes = _mm256_set1_epi8(byte);
    uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(text[0], bytes));
    uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(text[1], bytes));
    return low | (uint64_t)high << 32;
}

TARGET_AVX2 PFD_INLINE uint64_t digit_bytes_avx2(const __m256i text[2])
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
TARGET_AVX2 PFD_INLINE __m256i last_bytes(uint64_t n)
{
    const __m256i places =
        _mm256_setr_epi8(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13,
                         12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_cmpgt_epi8(_mm256_set1_epi8((char)n), places);
}

/* The digits of a number that ends at `end`, aligned to the end of the vector, zeros before them:
 * those after the point as they stand, those before it moved by one. */
TARGET_AVX2 PFD_INLINE __m256i align_digits_avx2(const uint8_t *end, uint64_t digits,
                                                 uint64_t scale, uint64_t has_point)
{
    __m256i after = _mm256_loadu_si256((const void *)(end - 32));
    __m256i before = _mm256_loadu_si256((const void *)(end - 33));
    __m256i text = _mm256_blendv_epi8(before, after, last_bytes(has_point ? scale : 32));
    return _mm256_and_si256(_mm256_sub_epi8(text, _mm256_set1_epi8('0')), last_bytes(digits));
}

/* Neighbouring digits to pairs, pairs to fours. */
TARGET_AVX2 PFD_INLINE __m256i join_digits_avx2(__m256i digits)
{
    __m256i pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010a));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00010064));
}

/* The upper sixteen digits of both numbers of a record, then the lower ones. */
TARGET_AVX2 PFD_INLINE __m256i join_numbers_avx2(__m256i one, __m256i other)
{
    __m256i eights =
        _mm256_madd_epi16(_mm256_packus_epi32(one, other), _mm256_set1_epi32(0x00012710));
    return _mm256_add_epi64(_mm256_mul_epu32(eights, _mm256_set1_epi64x(100000000)),
                            _mm256_srli_epi64(eights, 32));
}

TARGET_AVX2 PFD_INLINE void look_at_avx2(const pfd_record *record, pair_text *out,
                                         pair_notes *notes, int64_t i)
{
    pair_block block = block_of_pair(record);
    const __m256i text[2] = {_mm256_loadu_si256((const void *)block.data),
                             _mm256_loadu_si256((const void *)(block.data + 32))};
    _mm256_storeu_si256((void *)out->text, text[0]);
    _mm256_storeu_si256((void *)(out->text + 32), text[1]);
    const pair_masks masks = {
        .digits = digit_bytes_avx2(text) & block.inside,
        .comma = equal_bytes_avx2(text, ',') & block.inside,
        .points = equal_bytes_avx2(text, '.') & block.inside,
        .minus = equal_bytes_avx2(text, '-') & block.inside,
    };
    note_text(&masks, &block, out, notes, i);
}

TARGET_AVX2 PFD_INLINE __m256i parse_digits_avx2(const pair_text *text)
{
    __m256i numbers[2];
    for (int i = 0; i < 2; i++) {
        const uint8_t *end = (const uint8_t *)text + offsetof(pair_text, text) + text->ends[i];
        numbers[i] = join_digits_avx2(
            align_digits_avx2(end, text->place.digits[i], text->place.scale[i], text->points[i]));
    }
    return join_numbers_avx2(numbers[0], numbers[1]);
}

/* As divide_avx512(), whose comment says why; the mantissa is upper * 10^16 + lower. */
TARGET_AVX2 PFD_INLINE __m256d divide_avx2(__m256i upper, __m256i lower, const uint8_t scales[4],
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

/* Writes the values of two records; returns those that are left, as bits. */
TARGET_AVX2 PFD_INLINE uint64_t convert_avx2(const __m256i joined[2], const pair_notes *notes,
                                             int64_t i, int64_t n, double *rows)
{
    __m256i upper = _mm256_permute2x128_si256(joined[0], joined[1], 0x20);
    __m256i lower = _mm256_permute2x128_si256(joined[0], joined[1], 0x31);
    const uint8_t *scales = notes->scales[i];
    int doubtful;
    uint32_t bits;
    __m256d value = divide_avx2(upper, lower, scales, &doubtful);
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

TARGET_AVX2 static uint64_t pairs_avx2(const pfd_record *records, int64_t n, double *rows)
{
    pair_text texts[PFD_PAIRS_AT_ONCE];
    __m256i joined[PFD_PAIRS_AT_ONCE];
    pair_notes notes;
    uint64_t left = 0;
    for (int64_t i = 0; i < n; i++) look_at_avx2(&records[i], &texts[i], &notes, i);
    for (int64_t i = 0; i < n; i++) joined[i] = parse_digits_avx2(&texts[i]);
    for (int64_t i = 0; i < n; i += 2) left |= convert_avx2(joined + i, &notes, i, n, rows) << i;
    return _bzhi_u64(left, (unsigned)n);
}
#endif

/* ---- NEON ------------------------------------------------------------------------------------ */

#if defined(__AARCH64EL__)
#define TARGET_NEON __attribute__((no_sanitize("address", "thread")))

TARGET_NEON PFD_INLINE void look_at_neon(const pfd_record *record, pair_text *out,
                                         pair_notes *notes, int64_t i)
{
    pair_block block = block_of_pair(record);
    pfd_bytes16 digits[4], commas[4], points[4], minus[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        pfd_bytes16 bytes = pfd_load16(block.data + 16 * j);
        vst1q_u8(out->text + 16 * j, bytes);
        digits[j] = (pfd_bytes16)(bytes - (uint8_t)'0' <= 9);
        commas[j] = (pfd_bytes16)(bytes == ',');
        points[j] = (pfd_bytes16)(bytes == '.');
        minus[j] = (pfd_bytes16)(bytes == '-');
    }
    const pair_masks masks = {
        .digits = pfd_bits64(digits) & block.inside,
        .comma = pfd_bits64(commas) & block.inside,
        .points = pfd_bits64(points) & block.inside,
        .minus = pfd_bits64(minus) & block.inside,
    };
    note_text(&masks, &block, out, notes, i);
}

/* Sixteen of the digits of a number that ends at `end`, as two numbers of eight digits: the last
 * ones, or the ones before.  The digits after the point are taken as they stand, those before it
 * moved by one; what is not of the number is 0. */
PFD_INLINE uint64x2_t eights_of_neon(const uint8_t *end, uint64_t digits, uint64_t scale,
                                     int before)
{
    const pfd_bytes16 ordinals = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    const uint8_t passed = before ? 16 : 0, *from = end - 16 - passed;
    pfd_bytes16 from_end = ordinals + passed;
    uint8x16_t is_behind = vcltq_u8(from_end, vdupq_n_u8((uint8_t)scale));
    uint8x16_t text = vbslq_u8(is_behind, vld1q_u8(from), vld1q_u8(from - 1));
    return pfd_join_eights((text - '0') & vcltq_u8(from_end, vdupq_n_u8((uint8_t)digits)));
}

/* Eights of two numbers to the sixteen digits of each. */
PFD_INLINE uint64x2_t join_sixteens_neon(uint64x2_t one, uint64x2_t other)
{
    uint32x2_t upper = vmovn_u64(vtrn1q_u64(one, other));
    return vmlal_u32(vtrn2q_u64(one, other), upper, vdup_n_u32(100000000));
}

/* As divide_avx512(), whose comment says why; the mantissa is upper * 10^16 + lower. */
PFD_INLINE float64x2_t divide_neon(uint64x2_t upper, uint64x2_t lower, const uint64_t scale[2],
                                   uint64x2_t *doubtful)
{
    const uint64_t unit = 10000000000000000;
    uint32x2_t few = vmovn_u64(upper);
    uint64x2_t mantissa = vmlal_u32(lower, few, vdup_n_u32((uint32_t)unit)) +
                          (vmull_u32(few, vdup_n_u32((uint32_t)(unit >> 32))) << 32);
    const float64x2_t power = {pfd_powers[scale[0] & 63], pfd_powers[scale[1] & 63]};
    const float64x2_t reciprocal = {pfd_reciprocals[scale[0] & 63],
                                    pfd_reciprocals[scale[1] & 63]};
    float64x2_t high = vcvtq_f64_u64(mantissa);
    uint64x2_t beyond = mantissa - vcvtq_u64_f64(high);
    float64x2_t low = vcvtq_f64_s64(vreinterpretq_s64_u64(beyond));
    float64x2_t quotient = high * reciprocal;
    float64x2_t remainder = vfmsq_f64(high, quotient, power);
    float64x2_t rest = (remainder + low) * reciprocal;
    float64x2_t most = vfmaq_f64(quotient, rest, vdupq_n_f64(1 + 0x1p-50));
    float64x2_t least = vfmaq_f64(quotient, rest, vdupq_n_f64(1 - 0x1p-50));
    *doubtful = ~vceqq_f64(most, least) | vcgtq_u64(upper, vdupq_n_u64(999)); /* over 10^19 */
    return most;
}

/* Writes the values of a record; returns whether it is left. */
PFD_INLINE uint64_t convert_neon(const pair_text *text, const pair_notes *notes, int64_t i,
                                 double *row)
{
    uint64x2_t uppers[2], lowers[2], doubtful;
#pragma GCC unroll 2
    for (int j = 0; j < 2; j++) {
        const uint8_t *end = (const uint8_t *)text + offsetof(pair_text, text) + text->ends[j];
        uint64_t digits = text->place.digits[j];
        uint64_t scale = text->points[j] ? text->place.scale[j] : 64;
        uppers[j] = eights_of_neon(end, digits, scale, 1);
        lowers[j] = eights_of_neon(end, digits, scale, 0);
    }
    float64x2_t value = divide_neon(join_sixteens_neon(uppers[0], uppers[1]),
                                    join_sixteens_neon(lowers[0],
                                                       lowers[1]), text->place.scale, &doubtful);
    const uint64x2_t signs = {notes->scales[i][0] >> 7, notes->scales[i][1] >> 7};
    vst1q_f64(row, vreinterpretq_f64_u64(vreinterpretq_u64_f64(value) | signs << 63));
    int large = text->place.scale[0] > PFD_MOST_SCALE || text->place.scale[1] > PFD_MOST_SCALE;
    return large || notes->odd[i] || doubtful[0] || doubtful[1];
}

TARGET_NEON static uint64_t pairs_neon(const pfd_record *records, int64_t n, double *rows)
{
    pair_text texts[PFD_PAIRS_AT_ONCE];
    pair_notes notes;
    uint64_t left = 0;
    for (int64_t i = 0; i < n; i++) look_at_neon(&records[i], &texts[i], &notes, i);
    for (int64_t i = 0; i < n; i++) left |= convert_neon(&texts[i], &notes, i, rows + 2 * i) << i;
    return left;
}
#endif

/* ---- Which way to take ----------------------------------------------------------------------- */

static uint64_t leave_all(const pfd_record *records, int64_t n, double *rows)
{
    (void)records;
    (void)rows;
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

pfd_pairs_fn pfd_pairs_at(int32_t simd_level)
{
#if defined(__x86_64__)
    if (simd_level >= PFD_SIMD_AVX512) return pairs_avx512;
    if (simd_level == PFD_SIMD_AVX2) return pairs_avx2;
#elif defined(__AARCH64EL__)
    if (simd_level == PFD_SIMD_NEON) return pairs_neon;
#endif
    (void)simd_level;
    return leave_all;
}

pfd_status pfd_parse_pairs(const pfd_record *records, int64_t n, double *rows,
                           pfd_parse_pair_fn parse, const void *ctx, pfd_error *err)
{
    pfd_pairs_fn parse_some = pfd_pairs_at(pfd_simd_level());
    for (int64_t begin = 0; begin < n; begin += PFD_PAIRS_AT_ONCE) {
        int64_t some = n - begin < PFD_PAIRS_AT_ONCE ? n - begin : PFD_PAIRS_AT_ONCE;
        uint64_t left = parse_some(records + begin, some, rows + 2 * begin);
        for (; left; left &= left - 1) {
            int64_t i = begin + __builtin_ctzll(left);
            PFD_TRY(parse(ctx, i, rows + 2 * i, err));
        }
    }
    return PFD_OK;
}
