/* Numbers of 16 bits: eight of exponent, seven of fraction. */
#include "core/bfloat16.h"

#include "core/round_to_odd.h"
#include "core/simd.h"

#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

PFD_INLINE void widen(const uint16_t *restrict in, float *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)in[i] << 16;
        bits |= (uint32_t)((bits & 0x7fffffff) > 0x7f800000) << 22; /* a NaN made quiet */
        memcpy(out + i, &bits, sizeof bits);
    }
}

PFD_INLINE void narrow(const float *restrict in, uint16_t *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, in + i, sizeof bits);
        uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
        out[i] = (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
    }
}

#if defined(__x86_64__)
PFD_TARGET_AVX2 static void widen_avx2(const uint16_t *in, float *out, int64_t n)
{
    widen(in, out, n);
}

PFD_TARGET_AVX2 static void narrow_avx2(const float *in, uint16_t *out, int64_t n)
{
    narrow(in, out, n);
}
#endif

void pfd_bfloat16_to_float32(const uint16_t *in, float *out, int64_t n)
{
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX2) {
        widen_avx2(in, out, n);
        return;
    }
#endif
    widen(in, out, n);
}

void pfd_bfloat16_from_float32(const float *in, uint16_t *out, int64_t n)
{
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX2) {
        narrow_avx2(in, out, n);
        return;
    }
#endif
    narrow(in, out, n);
}

void pfd_bfloat16_from_float64(const double *in, uint16_t *out, int64_t n)
{
    enum { block = 512 };
    float odd[block];
    for (int64_t i = 0; i < n; i += block) {
        int64_t count = n - i < block ? n - i : block;
        pfd_round_double_to_odd(in + i, odd, count);
        pfd_bfloat16_from_float32(odd, out + i, count);
    }
}
