/* core/narrow_floats.h -- numbers of 16 bits from and to wider ones: float16 (IEEE binary16) and
 * bfloat16 (the upper half of a float32: eight bits of exponent, seven of fraction).
 *
 * Rounding is to the nearest, ties to even; a NaN stays one, with its sign, and becomes quiet.  The
 * vector instructions give the same bits as plain C.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_NARROW_FLOATS_H
#define PFD_CORE_NARROW_FLOATS_H
#include "pyflowdata/op.h"

/* ---- Rounding to odd ------------------------------------------------------------------------- */

/* Integers of more than 53 bits to doubles: an integer that is no double becomes the one of its two
 * neighbours whose last bit is 1.  Rounding this double to fewer bits, to the nearest, gives the
 * same as rounding the integer itself. */
void pfd_round_int64_to_odd(const int64_t *restrict in, double *restrict out, int64_t n);
void pfd_round_uint64_to_odd(const uint64_t *restrict in, double *restrict out, int64_t n);

/* ---- float16 and bfloat16 -------------------------------------------------------------------- */

void pfd_float16_to_float32(const uint16_t *in, float *out, int64_t n);
void pfd_float16_from_float32(const float *in, uint16_t *out, int64_t n);
void pfd_bfloat16_to_float32(const uint16_t *in, float *out, int64_t n);
void pfd_bfloat16_from_float32(const float *in, uint16_t *out, int64_t n);

/* ---- Either of them, by its number ----------------------------------------------------------- */

static inline int32_t pfd_is_narrow_float(int32_t dtype)
{
    return dtype == PFD_FLOAT16 || dtype == PFD_BFLOAT16;
}

static inline void pfd_narrow_to_float32(int32_t dtype, const void *in, float *out, int64_t n)
{
    (dtype == PFD_BFLOAT16 ? pfd_bfloat16_to_float32 : pfd_float16_to_float32)(in, out, n);
}

static inline void pfd_narrow_from_float32(int32_t dtype, const float *in, void *out, int64_t n)
{
    (dtype == PFD_BFLOAT16 ? pfd_bfloat16_from_float32 : pfd_float16_from_float32)(in, out, n);
}

void pfd_narrow_from_float64(int32_t dtype, const double *in, uint16_t *out, int64_t n);
#endif
