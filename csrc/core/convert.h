/* core/convert.h -- elements of one dtype as those of another.
 *
 * bool is 0 or 1; anything but 0 becomes true, NaN too.  Integers become floats rounded to the
 * nearest, ties to even, and so do wider floats.  Floats become integers by cutting the fraction
 * off.  What a dtype cannot hold then is an overflow: an integer outside its limits, a NaN or an
 * infinity for an integer dtype, a finite float that would become infinite.
 */
#ifndef PFD_CORE_CONVERT_H
#define PFD_CORE_CONVERT_H
#include <stdint.h>

#define PFD_OVERFLOW_RAISE 0    /* stop there */
#define PFD_OVERFLOW_WRAP 1     /* the low bits (0 for NaN and infinity); floats: infinity */
#define PFD_OVERFLOW_SATURATE 2 /* the nearest value; 0 for NaN */

/* Converts n elements of dtype `from` to dtype `to`, both aligned, not overlapping.  Returns n, or
 * with PFD_OVERFLOW_RAISE the index of the first element that does not fit: the elements after it
 * are not converted. */
int64_t pfd_convert(int32_t from, const void *in, int32_t to, void *out, int64_t n,
                    int32_t overflow);

/* The conversion of decoders, for numbers from a file. A value that an integer dtype does not hold
 * stops it as with PFD_OVERFLOW_RAISE, and so does an integer other than 0 and 1 for a bool. A
 * float that is too large for its dtype becomes infinite, as in NumPy's astype(). */
int64_t pfd_convert_stored(int32_t from, const void *in, int32_t to, void *out, int64_t n);

/* Whether a number can be written as this dtype without a change. */
int32_t pfd_is_exact(double value, int32_t dtype);

/* Writes one element, for a message: "-3", "1.5", "true"; out holds `capacity` >= 40 bytes. */
const char *pfd_format_element(int32_t dtype, const void *element, char *out, int64_t capacity);

/* What a dtype holds, for a message: "0 to 255". */
const char *pfd_dtype_limits(int32_t dtype);
#endif
