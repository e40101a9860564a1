/* parse/number_pairs.h -- two comma-separated decimal numbers a record, many records at once. */
#ifndef PFD_PARSE_NUMBER_PAIRS_H
#define PFD_PARSE_NUMBER_PAIRS_H
#include "core/cpu.h"
#include "pyflowdata/op.h"

#define PFD_PAIRS_AT_ONCE 64

/* Parses records[0, n), n <= PFD_PAIRS_AT_ONCE, none of them empty, into rows[0, 2 * n).  Returns
 * the records that were not parsed (bit i: record i), whose rows are undefined: those that are not
 * two plain decimal numbers, each [-]digits with at most one point, with one comma between, and
 * those that are too long for the fast way.  The numbers are those of pfd_parse_double(), bit for
 * bit. */
typedef uint64_t (*pfd_pairs_fn)(const pfd_record *records, int64_t n, double *rows);

/* Parses any number of records in the fastest way that this processor has.  The other records are
 * parsed with parse(ctx, record, pair, err), whose first failure ends the call. */
typedef pfd_status (*pfd_parse_pair_fn)(const void *ctx, int64_t record, double *pair,
                                        pfd_error *err);
pfd_status pfd_parse_pairs(const pfd_record *records, int64_t n, double *rows,
                           pfd_parse_pair_fn parse, const void *ctx, pfd_error *err);

/* The way for a level of core/cpu.h; where there is none, all records are left. */
pfd_pairs_fn pfd_pairs_at(int32_t simd_level);

/* ---- What others that parse numbers by vectors need ------------------------------------------ */

enum { PFD_MOST_SCALE = 22, PFD_SCALES = 64 };

/* The powers of ten that are exact doubles, and their reciprocals, rounded to nearest. */
_Alignas(64) static const double pfd_powers[PFD_SCALES] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
_Alignas(64) static const double pfd_reciprocals[PFD_SCALES] = {
    1e-0,  1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9,  1e-10, 1e-11,
    1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22};

#if defined(__AARCH64EL__)
#include <arm_neon.h>

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
