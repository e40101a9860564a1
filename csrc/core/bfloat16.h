/* core/bfloat16.h -- numbers of 16 bits (bfloat16: eight of exponent, seven of fraction)
 * from and to wider ones.
 *
 * They are the upper half of a float32.  Rounding is to the nearest, ties to even; a NaN stays one,
 * with its sign, and becomes quiet.
 */
#ifndef PFD_CORE_BFLOAT16_H
#define PFD_CORE_BFLOAT16_H
#include <stdint.h>

void pfd_bfloat16_to_float32(const uint16_t *in, float *out, int64_t n);
void pfd_bfloat16_from_float32(const float *in, uint16_t *out, int64_t n);
void pfd_bfloat16_from_float64(const double *in, uint16_t *out, int64_t n); /* rounded once */
#endif
