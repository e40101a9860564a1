/* core/narrow_floats.h -- the float dtypes of 16 bits, float16 and bfloat16, by their number. */
#ifndef PFD_CORE_NARROW_FLOATS_H
#define PFD_CORE_NARROW_FLOATS_H
#include "core/bfloat16.h"
#include "core/float16.h"
#include "pyflowdata/op.h"

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

static inline void pfd_narrow_from_float64(int32_t dtype, const double *in, void *out, int64_t n)
{
    (dtype == PFD_BFLOAT16 ? pfd_bfloat16_from_float64 : pfd_float16_from_float64)(in, out, n);
}
#endif
