/* text/pair_notes.h -- what the ways of number_pairs.h have in common: from masks of a record's
 * bytes to where its numbers are, by bit operations alone. */
#ifndef PFD_TEXT_PAIR_NOTES_H
#define PFD_TEXT_PAIR_NOTES_H
#include "text/number_pairs.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define PFD_INLINE static inline __attribute__((always_inline))
#define PFD_TARGET_BMI __attribute__((target("bmi,bmi2,popcnt")))

enum { PFD_MOST_SCALE = 22, PFD_SCALES = 64 };

/* The powers of ten that are exact doubles, and their reciprocals, rounded to nearest. */
_Alignas(64) static const double pfd_powers[PFD_SCALES] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
_Alignas(64) static const double pfd_reciprocals[PFD_SCALES] = {
    1e-0,  1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9,  1e-10, 1e-11,
    1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22};

/* Of a record's bytes; bit 0 need not be its first byte. */
typedef struct pfd_pair_masks {
    uint64_t inside, digits, comma, points, minus;
} pfd_pair_masks;

/* What is known of some records besides their digits. */
typedef struct pfd_pair_notes {
    uint8_t scales[PFD_PAIRS_AT_ONCE][2]; /* of each number: the digits behind its point, and 128
                                             for a minus sign */
    uint64_t odd[PFD_PAIRS_AT_ONCE];      /* not 0: the record is to be left */
} pfd_pair_notes;

typedef struct pfd_pair_place {
    uint64_t digits[2]; /* how many; more than 32 only where the record is odd */
    uint64_t scale[2];
} pfd_pair_place;

PFD_TARGET_BMI PFD_INLINE pfd_pair_place pfd_note_pair(const pfd_pair_masks *masks, uint64_t size,
                                                       uint64_t last_place, pfd_pair_notes *notes,
                                                       int64_t i)
{
    uint64_t first = masks->comma - 1; /* the first number, and what comes before */
    uint64_t points1 = masks->points & first, points2 = masks->points & ~first;
    pfd_pair_place place = {
        .digits = {(uint64_t)_mm_popcnt_u64(masks->digits & first),
                   (uint64_t)_mm_popcnt_u64(masks->digits & ~first)},
        .scale = {_tzcnt_u64(masks->comma) - 1 - _tzcnt_u64(points1 | masks->comma >> 1),
                  last_place - _tzcnt_u64(points2 | UINT64_C(1) << (last_place & 63))},
    };
    uint64_t known = masks->digits | masks->comma | masks->points | masks->minus;
    uint64_t signs = _blsi_u64(masks->inside) | masks->comma << 1;
    notes->scales[i][0] = (uint8_t)(place.scale[0] | (uint64_t)((masks->minus & first) != 0) << 7);
    notes->scales[i][1] = (uint8_t)(place.scale[1] | (uint64_t)((masks->minus & ~first) != 0) << 7);
    notes->odd[i] = (masks->inside ^ known) | _blsr_u64(masks->comma) | _blsr_u64(points1) |
                    _blsr_u64(points2) | (masks->minus & ~signs) |
                    ((place.digits[0] - 1) | (place.digits[1] - 1)) >> 5 | (size - 1) >> 6;
    return place;
}
#endif
#endif
