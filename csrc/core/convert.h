/* core/convert.h -- elements of one dtype as those of another.  pfd_convert() is public:
 * pyflowdata.h. */
#ifndef PFD_CORE_CONVERT_H
#define PFD_CORE_CONVERT_H
#include "pyflowdata/pyflowdata.h"

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
