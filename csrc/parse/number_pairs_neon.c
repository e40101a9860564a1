/* Pairs of decimal numbers with NEON: the two lanes of a vector are the two numbers of a record. */
#include "parse/pair_notes.h"

#if defined(__AARCH64EL__)
#include "core/bytes16.h"

#include <stddef.h>

#define TARGET __attribute__((no_sanitize("address", "thread")))

TARGET PFD_INLINE void look_at(const pfd_record *record, pfd_pair_text *out, pfd_pair_notes *notes,
                               int64_t i)
{
    pfd_pair_block block = pfd_block_of_pair(record);
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
    const pfd_pair_masks masks = {
        .digits = pfd_bits64(digits) & block.inside,
        .comma = pfd_bits64(commas) & block.inside,
        .points = pfd_bits64(points) & block.inside,
        .minus = pfd_bits64(minus) & block.inside,
    };
    pfd_note_text(&masks, &block, out, notes, i);
}

/* Sixteen of the digits of a number that ends at `end`, as two numbers of eight digits: the last
 * ones, or the ones before.  The digits after the point are taken as they stand, those before it
 * moved by one; what is not of the number is 0. */
PFD_INLINE uint64x2_t eights_of(const uint8_t *end, uint64_t digits, uint64_t scale, int before)
{
    const pfd_bytes16 ordinals = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    const uint8_t passed = before ? 16 : 0, *from = end - 16 - passed;
    pfd_bytes16 from_end = ordinals + passed;
    uint8x16_t is_behind = vcltq_u8(from_end, vdupq_n_u8((uint8_t)scale));
    uint8x16_t text = vbslq_u8(is_behind, vld1q_u8(from), vld1q_u8(from - 1));
    return pfd_join_eights((text - '0') & vcltq_u8(from_end, vdupq_n_u8((uint8_t)digits)));
}

/* Eights of two numbers to the sixteen digits of each. */
PFD_INLINE uint64x2_t join_sixteens(uint64x2_t one, uint64x2_t other)
{
    uint32x2_t upper = vmovn_u64(vtrn1q_u64(one, other));
    return vmlal_u32(vtrn2q_u64(one, other), upper, vdup_n_u32(100000000));
}

/* As divide() in number_pairs.c, whose comment says why; the mantissa is upper * 10^16 + lower. */
PFD_INLINE float64x2_t divide(uint64x2_t upper, uint64x2_t lower, const uint64_t scale[2],
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

/* The values of a record; returns whether it is to be left. */
PFD_INLINE uint64_t convert(const pfd_pair_text *text, const pfd_pair_notes *notes, int64_t i,
                            double *row)
{
    uint64x2_t uppers[2], lowers[2], doubtful;
#pragma GCC unroll 2
    for (int j = 0; j < 2; j++) {
        const uint8_t *end = (const uint8_t *)text + offsetof(pfd_pair_text, text) + text->ends[j];
        uint64_t digits = text->place.digits[j];
        uint64_t scale = text->points[j] ? text->place.scale[j] : 64;
        uppers[j] = eights_of(end, digits, scale, 1);
        lowers[j] = eights_of(end, digits, scale, 0);
    }
    float64x2_t value = divide(join_sixteens(uppers[0], uppers[1]),
                               join_sixteens(lowers[0], lowers[1]), text->place.scale, &doubtful);
    const uint64x2_t signs = {notes->scales[i][0] >> 7, notes->scales[i][1] >> 7};
    vst1q_f64(row, vreinterpretq_f64_u64(vreinterpretq_u64_f64(value) | signs << 63));
    int large = text->place.scale[0] > PFD_MOST_SCALE || text->place.scale[1] > PFD_MOST_SCALE;
    return large || notes->odd[i] || doubtful[0] || doubtful[1];
}

TARGET uint64_t pfd_pairs_neon(const pfd_record *records, int64_t n, double *rows)
{
    pfd_pair_text texts[PFD_PAIRS_AT_ONCE];
    pfd_pair_notes notes;
    uint64_t left = 0;
    for (int64_t i = 0; i < n; i++) look_at(&records[i], &texts[i], &notes, i);
    for (int64_t i = 0; i < n; i++) left |= convert(&texts[i], &notes, i, rows + 2 * i) << i;
    return left;
}
#endif
