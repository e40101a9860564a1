/* core/float16.h -- numbers of 16 bits (IEEE binary16) from and to wider ones.
 *
 * Rounding is to the nearest, ties to even; a NaN stays one, and becomes quiet.  The vector
 * instructions give the same bits as plain C.
 */
#ifndef PFD_CORE_FLOAT16_H
#define PFD_CORE_FLOAT16_H
#include <stdint.h>

void pfd_float16_to_float32(const uint16_t *in, float *out, int64_t n);
void pfd_float16_from_float32(const float *in, uint16_t *out, int64_t n);
void pfd_float16_from_float64(const double *in, uint16_t *out, int64_t n); /* rounded once */
#endif
