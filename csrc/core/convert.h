/* core/convert.h -- the element types, and conversions between them.  pyflowdata.h has
 * pfd_dtype_name(), pfd_dtype_size() and pfd_convert().
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_CONVERT_H
#define PFD_CORE_CONVERT_H
#include "pyflowdata/pyflowdata.h"

#include <stdint.h>

/* ---- Element types --------------------------------------------------------------------------- */

/* All names, as in pfd_attr.choices: "bool|int8|...". */
extern const char *const pfd_dtype_choices;

/* The dtype of a NumPy dtype name; 0 for any other text. */
int32_t pfd_dtype_parse(const char *name);

static inline int32_t pfd_dtype_is_float(int32_t dtype)
{
    return dtype >= PFD_FLOAT16;
}

/* ---- Conversions ----------------------------------------------------------------------------- */

/* The conversion of decoders, for numbers from a file. A value that an integer dtype does not hold
 * stops it as with PFD_OVERFLOW_RAISE, and so does an integer other than 0 and 1 for a bool. A
 * float that is too large for its dtype becomes infinite, as in NumPy's astype(). */
int64_t pfd_convert_stored(int32_t from, const void *in, int32_t to, void *out, int64_t n);

/* Whether a number can be written as this dtype without a change. */
int32_t pfd_is_exact(double value, int32_t dtype);

/* Writes one element, for a message: "-3", "1.5", "true"; out holds `capacity` >= 40 bytes. */
const char *pfd_format_element(int32_t dtype, const void *element, char *out, int64_t capacity);

/* The values of a dtype, for a message: "0 to 255". */
const char *pfd_dtype_limits(int32_t dtype);

/* ---- Scaling --------------------------------------------------------------------------------- */

/* x * scale + shift, in the arithmetic of float64.  Product and sum are rounded one after the
 * other, also where the machine could fuse them, so that results are the same everywhere. */

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
