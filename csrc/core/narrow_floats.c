/* Floats of 16 bits, from and to wider numbers. */
#include "core/narrow_floats.h"

#include "core/cpu.h"

#include <math.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

/* ---- Rounding to odd ------------------------------------------------------------------------- */

/* Doubles to floats: a double that is no float becomes the one of its two neighbours whose last bit
 * is 1, which says that something was cut off. */
static void round_double_to_odd(const double *restrict in, float *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float nearest = (float)in[i];
        double back = (double)nearest;
        uint32_t bits;
        memcpy(&bits, &nearest, sizeof bits);
        uint32_t is_finite = (bits & 0x7fffffff) < 0x7f800000;
        uint32_t moves = is_finite & (back != in[i]) & ~bits & 1;
        uint32_t is_above = fabs(back) > fabs(in[i]); /* in magnitude */
        bits += moves - 2 * (moves & is_above);
        memcpy(out + i, &bits, sizeof bits);
    }
}

enum { cut = 11, cut_bits = (1 << cut) - 1 }; /* 64 - 53 */

/* Cuts the lower bits off; where one of them was set, the last bit that stays is set. */
static inline uint64_t odd(uint64_t bits)
{
    return (bits & ~(uint64_t)cut_bits) | (uint64_t)((bits & cut_bits) != 0) << cut;
}

void pfd_round_int64_to_odd(const int64_t *restrict in, double *restrict out, int64_t n)
{
    const int64_t most = INT64_C(1) << 53;
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)(in[i] < -most || in[i] > most ? (int64_t)odd((uint64_t)in[i]) : in[i]);
}

void pfd_round_uint64_to_odd(const uint64_t *restrict in, double *restrict out, int64_t n)
{
    const uint64_t most = UINT64_C(1) << 53;
    for (int64_t i = 0; i < n; i++) out[i] = (double)(in[i] > most ? odd(in[i]) : in[i]);
}

/* ---- float16 --------------------------------------------------------------------------------- */

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float widened(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;
    uint32_t exponent = rest & 0x0f800000;
    if (exponent == 0x0f800000) { /* infinity or NaN, a NaN made quiet */
        uint32_t quiet = rest & 0x007fffff ? 0x00400000 : 0;
        return float_of(sign | 0x7f800000 | (rest & 0x007fffff) | quiet);
    }
    rest += (uint32_t)(127 - 15) << 23;
    if (exponent > 0) return float_of(sign | rest);
    /* Subnormal: the float with one bit more in front, less that bit. */
    float value = float_of(rest + (1u << 23)) - float_of(113u << 23);
    return float_of(sign | bits_of(value));
}

static inline uint16_t narrowed(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest >= 0x47800000) { /* from 65536 on, infinity and NaN */
        uint32_t nan = rest > 0x7f800000 ? 0x0200 | (rest >> 13 & 0x03ff) : 0;
        return (uint16_t)(sign | 0x7c00 | nan);
    }
    if (rest < 0x38800000) { /* subnormal: adding 0.5 puts its bits at the end, rounded */
        return (uint16_t)(sign | (bits_of(float_of(rest) + 0.5f) - 0x3f000000));
    }
    rest += 0x0fff + (rest >> 13 & 1);
    return (uint16_t)(sign | (rest - ((uint32_t)(127 - 15) << 23)) >> 13);
}

#if defined(__x86_64__)
#include <immintrin.h>

#define HAS_VECTORS 1

__attribute__((target("avx2,f16c"))) static int64_t widen_some(const uint16_t *in, float *out,
                                                               int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(in + i))));
    return i;
}

__attribute__((target("avx2,f16c"))) static int64_t narrow_some(const float *in, uint16_t *out,
                                                                int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

static int32_t has_vectors(void)
{
    return pfd_simd_level() >= PFD_SIMD_AVX2 && pfd_x86_features() & PFD_X86_F16C;
}

#elif defined(__AARCH64EL__)
#include <arm_neon.h>
#define HAS_VECTORS 1

static int64_t widen_some(const uint16_t *in, float *out, int64_t n)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(in + i))));
    return i;
}

static int64_t narrow_some(const float *in, uint16_t *out, int64_t n)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1_u16(out + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(in + i))));
    return i;
}

static int32_t has_vectors(void)
{
    return pfd_simd_level() == PFD_SIMD_NEON;
}
#endif

void pfd_float16_to_float32(const uint16_t *in, float *out, int64_t n)
{
    int64_t i = 0;
#if defined(HAS_VECTORS)
    if (has_vectors()) i = widen_some(in, out, n);
#endif
    for (; i < n; i++) out[i] = widened(in[i]);
}

void pfd_float16_from_float32(const float *in, uint16_t *out, int64_t n)
{
    int64_t i = 0;
#if defined(HAS_VECTORS)
    if (has_vectors()) i = narrow_some(in, out, n);
#endif
    for (; i < n; i++) out[i] = narrowed(in[i]);
}

/* ---- bfloat16 -------------------------------------------------------------------------------- */

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

/* ---- Either of them, by its number ----------------------------------------------------------- */

void pfd_narrow_from_float64(int32_t dtype, const double *in, uint16_t *out, int64_t n)
{
    enum { block = 512 };
    float odd[block];
    for (int64_t i = 0; i < n; i += block) {
        int64_t count = n - i < block ? n - i : block;
        round_double_to_odd(in + i, odd, count);
        pfd_narrow_from_float32(dtype, odd, out + i, count);
    }
}
