/* core/number_cast.h -- numbers of one dtype to another, where they fit.
 *
 * THREADS  A pure function.
 */
#ifndef PFD_CORE_NUMBER_CAST_H
#define PFD_CORE_NUMBER_CAST_H
#include <stdint.h>

/* `from` is of float32, float64, int64 or uint8, `to` of any dtype but float16.  Floats lose what
 * is behind the point; a float is the nearest one; a bool is whether the number is not 0.  Returns
 * n, or the index of the first number that an integer dtype does not hold (NaN is one). */
int64_t pfd_cast_numbers(const void *from, int32_t from_dtype, void *to, int32_t to_dtype,
                         int64_t n);
#endif
