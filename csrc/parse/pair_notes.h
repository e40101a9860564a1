/* parse/pair_notes.h -- what the ways of number_pairs.h have in common: from masks of a record's
 * bytes to where its numbers are, by bit operations alone. */
#ifndef PFD_PARSE_PAIR_NOTES_H
#define PFD_PARSE_PAIR_NOTES_H
#include "core/simd.h"
#include "parse/number_pairs.h"

#if defined(__x86_64__) || defined(__AARCH64EL__)
#if defined(__x86_64__)
#include <immintrin.h>
#define PFD_TARGET_BMI __attribute__((target("bmi,bmi2,popcnt")))
#else
#include <arm_neon.h>
#define PFD_TARGET_BMI
#endif

enum { PFD_MOST_SCALE = 22, PFD_SCALES = 64 };

/* The powers of ten that are exact doubles, and their reciprocals, rounded to nearest. */
_Alignas(64) static const double pfd_powers[PFD_SCALES] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
_Alignas(64) static const double pfd_reciprocals[PFD_SCALES] = {
    1e-0,  1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9,  1e-10, 1e-11,
    1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22};

/* Of a record's bytes; bit 0 is the first byte of its block. */
typedef struct pfd_pair_masks {
    uint64_t digits, comma, points, minus;
} pfd_pair_masks;

/* What is known of some records besides their digits. */
typedef struct pfd_pair_notes {
    uint8_t scales[PFD_PAIRS_AT_ONCE][2]; /* of each number: the digits after its point, and 128 for
                                             a minus sign */
    uint64_t odd[PFD_PAIRS_AT_ONCE];      /* not 0: the record is to be left */
} pfd_pair_notes;

typedef struct pfd_pair_place {
    uint64_t digits[2]; /* how many; more than 32 only where the record is odd */
    uint64_t scale[2];
} pfd_pair_place;

/* The lowest bit that is set; 64: none is, which the instructions say by themselves. */
PFD_TARGET_BMI PFD_INLINE uint64_t pfd_lowest_bit(uint64_t bits)
{
#if defined(__x86_64__)
    return _tzcnt_u64(bits);
#else
    return bits ? (uint64_t)__builtin_ctzll(bits) : 64;
#endif
}

/* The bits but the lowest that is set. */
PFD_TARGET_BMI PFD_INLINE uint64_t pfd_but_lowest(uint64_t bits)
{
    return bits & (bits - 1);
}

/* The 64 bytes in which a record is looked at, and those that are its own.
 *
 * They are those of the cache line that a record lies in, or else the 64 from its beginning on:
 * these can be read, and no line is waited for that the record has no byte in, as a load would also
 * where a mask leaves it out.  The checkers of addresses must not mind. */
typedef struct pfd_pair_block {
    const uint8_t *data;
    uint64_t offset, size, inside; /* of the record; size may be more than 64 */
} pfd_pair_block;

PFD_TARGET_BMI PFD_INLINE pfd_pair_block pfd_block_of_pair(const pfd_record *record)
{
    uint64_t size = (uint64_t)record->size, offset = (uintptr_t)record->data % 64;
    offset &= 0 - (uint64_t)(offset + size <= 64);
    uint64_t inside = UINT64_MAX >> (-size & 63) << offset;
    return (pfd_pair_block){record->data - offset, offset, size, inside};
}

PFD_TARGET_BMI PFD_INLINE pfd_pair_place pfd_note_pair(const pfd_pair_masks *masks,
                                                       const pfd_pair_block *block,
                                                       pfd_pair_notes *notes, int64_t i)
{
    uint64_t first = masks->comma - 1; /* the first number, and what comes before */
    uint64_t points1 = masks->points & first, points2 = masks->points & ~first;
    uint64_t last_place = block->offset + block->size - 1;
    pfd_pair_place place = {
        .digits = {(uint64_t)__builtin_popcountll(masks->digits & first),
                   (uint64_t)__builtin_popcountll(masks->digits & ~first)},
        .scale = {pfd_lowest_bit(masks->comma) - 1 - pfd_lowest_bit(points1 | masks->comma >> 1),
                  last_place - pfd_lowest_bit(points2 | UINT64_C(1) << (last_place & 63))},
    };
    uint64_t known = masks->digits | masks->comma | masks->points | masks->minus;
    uint64_t signs = (block->inside & (0 - block->inside)) | masks->comma << 1;
    notes->scales[i][0] = (uint8_t)(place.scale[0] | (uint64_t)((masks->minus & first) != 0) << 7);
    notes->scales[i][1] = (uint8_t)(place.scale[1] | (uint64_t)((masks->minus & ~first) != 0) << 7);
    uint64_t second_ones =
        pfd_but_lowest(masks->comma) | pfd_but_lowest(points1) | pfd_but_lowest(points2);
    notes->odd[i] = (block->inside ^ known) | second_ones | (masks->minus & ~signs) |
                    ((place.digits[0] - 1) | (place.digits[1] - 1)) >> 5 | (block->size - 1) >> 6;
    return place;
}

/* A record as first looked at, where its digits are not taken from it at once. */
typedef struct pfd_pair_text {
    uint8_t before[64]; /* not written: its bytes are cut off */
    uint8_t text[64];   /* the block */
    pfd_pair_place place;
    uint64_t ends[2];   /* of the numbers, in text */
    uint64_t points[2]; /* not 0: has a point */
} pfd_pair_text;

PFD_TARGET_BMI PFD_INLINE void pfd_note_text(const pfd_pair_masks *masks,
                                             const pfd_pair_block *block, pfd_pair_text *out,
                                             pfd_pair_notes *notes, int64_t i)
{
    uint64_t first = masks->comma - 1;
    out->place = pfd_note_pair(masks, block, notes, i);
    out->ends[0] = pfd_lowest_bit(masks->comma);
    out->ends[1] = block->size <= 64 ? block->offset + block->size : 64;
    out->points[0] = masks->points & first;
    out->points[1] = masks->points & ~first;
}

#if defined(__AARCH64EL__)
/* Sixteen digits, each a byte, to two numbers of eight digits. */
PFD_INLINE uint64x2_t pfd_join_eights(uint8x16_t digits)
{
    const uint8x16_t ten = {10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1};
    const uint16x8_t hundred = {100, 1, 100, 1, 100, 1, 100, 1};
    const uint32x4_t ten_thousand = {10000, 1, 10000, 1};
    uint16x8_t pairs = vpaddlq_u8(digits * ten);
    uint32x4_t fours = vpaddlq_u16(pairs * hundred);
    return vpaddlq_u32(fours * ten_thousand);
}
#endif
#endif
#endif
