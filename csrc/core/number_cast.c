/* Numbers of one dtype to another. */
#include "core/number_cast.h"

#include "pyflowdata/op.h"

/* Of integers: the limits of the target, as int64_t. */
#define WHOLE(to_type, low, high)                                                                  \
    for (int64_t i = 0; i < n; i++) {                                                              \
        if (in[i] < (low) || in[i] > (high)) return i;                                             \
        ((to_type *)to)[i] = (to_type)in[i];                                                       \
    }                                                                                              \
    return n;

/* Of floats: the number lies strictly between two doubles, and then its integer part fits. */
#define REAL(to_type, below, above)                                                                \
    for (int64_t i = 0; i < n; i++) {                                                              \
        double value = (double)in[i];                                                              \
        if (!(value > (below) && value < (above))) return i;                                       \
        ((to_type *)to)[i] = (to_type)value;                                                       \
    }                                                                                              \
    return n;

#define PLAIN(to_type)                                                                             \
    for (int64_t i = 0; i < n; i++) ((to_type *)to)[i] = (to_type)in[i];                           \
    return n;

#define TRUTH                                                                                      \
    for (int64_t i = 0; i < n; i++) ((uint8_t *)to)[i] = in[i] != 0;                               \
    return n;

#define ABOVE_INT64 9223372036854775808.0   /* 2^63 */
#define BELOW_INT64 -9223372036854777856.0  /* the double below -2^63 */
#define ABOVE_UINT64 18446744073709551616.0 /* 2^64 */

static int64_t from_int64(const int64_t *in, void *to, int32_t dtype, int64_t n)
{
    switch (dtype) {
    case PFD_BOOL: TRUTH
    case PFD_INT8: WHOLE(int8_t, INT8_MIN, INT8_MAX)
    case PFD_UINT8: WHOLE(uint8_t, 0, UINT8_MAX)
    case PFD_INT16: WHOLE(int16_t, INT16_MIN, INT16_MAX)
    case PFD_UINT16: WHOLE(uint16_t, 0, UINT16_MAX)
    case PFD_INT32: WHOLE(int32_t, INT32_MIN, INT32_MAX)
    case PFD_UINT32: WHOLE(uint32_t, 0, UINT32_MAX)
    case PFD_UINT64: WHOLE(uint64_t, 0, INT64_MAX)
    case PFD_FLOAT32: PLAIN(float)
    case PFD_FLOAT64: PLAIN(double)
    default: PLAIN(int64_t)
    }
}

static int64_t from_uint8(const uint8_t *in, void *to, int32_t dtype, int64_t n)
{
    switch (dtype) {
    case PFD_BOOL: TRUTH
    case PFD_INT8: WHOLE(int8_t, 0, INT8_MAX)
    case PFD_INT16: PLAIN(int16_t)
    case PFD_UINT16: PLAIN(uint16_t)
    case PFD_INT32: PLAIN(int32_t)
    case PFD_UINT32: PLAIN(uint32_t)
    case PFD_INT64: PLAIN(int64_t)
    case PFD_UINT64: PLAIN(uint64_t)
    case PFD_FLOAT32: PLAIN(float)
    case PFD_FLOAT64: PLAIN(double)
    default: PLAIN(uint8_t)
    }
}

#define FROM_REALS(name, type)                                                                     \
    static int64_t name(const type *in, void *to, int32_t dtype, int64_t n)                        \
    {                                                                                              \
        switch (dtype) {                                                                           \
        case PFD_BOOL: TRUTH                                                                       \
        case PFD_INT8: REAL(int8_t, INT8_MIN - 1.0, INT8_MAX + 1.0)                                \
        case PFD_UINT8: REAL(uint8_t, -1.0, UINT8_MAX + 1.0)                                       \
        case PFD_INT16: REAL(int16_t, INT16_MIN - 1.0, INT16_MAX + 1.0)                            \
        case PFD_UINT16: REAL(uint16_t, -1.0, UINT16_MAX + 1.0)                                    \
        case PFD_INT32: REAL(int32_t, INT32_MIN - 1.0, INT32_MAX + 1.0)                            \
        case PFD_UINT32: REAL(uint32_t, -1.0, UINT32_MAX + 1.0)                                    \
        case PFD_INT64: REAL(int64_t, BELOW_INT64, ABOVE_INT64)                                    \
        case PFD_UINT64: REAL(uint64_t, -1.0, ABOVE_UINT64)                                        \
        case PFD_FLOAT32: PLAIN(float)                                                             \
        default: PLAIN(double)                                                                     \
        }                                                                                          \
    }
FROM_REALS(from_float32, float)
FROM_REALS(from_float64, double)

int64_t pfd_cast_numbers(const void *from, int32_t from_dtype, void *to, int32_t to_dtype,
                         int64_t n)
{
    switch (from_dtype) {
    case PFD_FLOAT32: return from_float32(from, to, to_dtype, n);
    case PFD_FLOAT64: return from_float64(from, to, to_dtype, n);
    case PFD_UINT8: return from_uint8(from, to, to_dtype, n);
    default: return from_int64(from, to, to_dtype, n);
    }
}
