/* core/scale.h -- x * scale + shift, in the arithmetic of float64.
 *
 * Product and sum are rounded one after the other, also where the machine could fuse them, so that
 * results are the same everywhere.
 */
#ifndef PFD_CORE_SCALE_H
#define PFD_CORE_SCALE_H
#include <stdint.h>

/* in and out may be the same. */
void pfd_scale_float64(const double *in, double *out, int64_t n, double scale, double shift);

/* With a separate scale and shift for each of n elements. */
void pfd_scale_each_float64(const double *in, double *out, int64_t n, const double *scale,
                            const double *shift);

/* Bytes to float32, rounded once more: for images. */
void pfd_scale_uint8(const uint8_t *in, float *out, int64_t n, double scale, double shift);
void pfd_scale_each_uint8(const uint8_t *in, float *out, int64_t n, const double *scale,
                          const double *shift);
#endif
