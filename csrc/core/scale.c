/* Scaling: two or four doubles at once, eight with AVX-512. */
#include "core/scale.h"

#include "core/simd.h"

#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

void pfd_scale_float64(const double *in, double *out, int64_t n, double scale, double shift)
{
    for (int64_t i = 0; i < n; i++) {
        double product = in[i] * scale;
        out[i] = product + shift;
    }
}

void pfd_scale_each_float64(const double *in, double *out, int64_t n, const double *scale,
                            const double *shift)
{
    for (int64_t i = 0; i < n; i++) {
        double product = in[i] * scale[i];
        out[i] = product + shift[i];
    }
}

/* ---- Bytes to float32 ------------------------------------------------------------------------ */

/* `step` 0: one scale and shift for all, 1: one for each. */
PFD_INLINE void scale_plain(const uint8_t *restrict in, float *restrict out, int64_t n,
                            const double *scale, const double *shift, int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        double product = (double)in[i] * scale[i * step];
        out[i] = (float)(product + shift[i * step]);
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Less than the level has: without FMA no compiler can fuse the two operations. */
#define ONLY_AVX2 __attribute__((target("avx2")))

ONLY_AVX2 PFD_INLINE __m128 scaled_avx2(__m128i four, const double *scale, const double *shift,
                                        int step)
{
    __m256d s = step ? _mm256_loadu_pd(scale) : _mm256_set1_pd(*scale);
    __m256d t = step ? _mm256_loadu_pd(shift) : _mm256_set1_pd(*shift);
    __m256d product = _mm256_mul_pd(_mm256_cvtepi32_pd(four), s);
    return _mm256_cvtpd_ps(_mm256_add_pd(product, t));
}

ONLY_AVX2 PFD_INLINE int64_t scale_avx2(const uint8_t *in, float *out, int64_t n,
                                        const double *scale, const double *shift, int step)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(in + i)));
        const double *s = scale + i * step, *t = shift + i * step;
        __m128 low = scaled_avx2(_mm256_castsi256_si128(wide), s, t, step);
        __m128 high = scaled_avx2(_mm256_extracti128_si256(wide, 1), s + 4 * step, t + 4 * step,
                                  step);
        _mm_storeu_ps(out + i, low);
        _mm_storeu_ps(out + i + 4, high);
    }
    return i;
}

ONLY_AVX2 static int64_t one_avx2(const uint8_t *in, float *out, int64_t n, const double *scale,
                                  const double *shift)
{
    return scale_avx2(in, out, n, scale, shift, 0);
}

ONLY_AVX2 static int64_t each_avx2(const uint8_t *in, float *out, int64_t n, const double *scale,
                                   const double *shift)
{
    return scale_avx2(in, out, n, scale, shift, 1);
}

PFD_TARGET_AVX512 PFD_INLINE int64_t scale_avx512(const uint8_t *in, float *out, int64_t n,
                                                  const double *scale, const double *shift,
                                                  int step)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(in + i)));
        __m512d s = step ? _mm512_loadu_pd(scale + i) : _mm512_set1_pd(*scale);
        __m512d t = step ? _mm512_loadu_pd(shift + i) : _mm512_set1_pd(*shift);
        /* With explicit rounding no compiler can fuse the two operations. */
        enum { nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
        __m512d product = _mm512_mul_round_pd(_mm512_cvtepi32_pd(wide), s, nearest);
        _mm256_storeu_ps(out + i, _mm512_cvtpd_ps(_mm512_add_round_pd(product, t, nearest)));
    }
    return i;
}

PFD_TARGET_AVX512 static int64_t one_avx512(const uint8_t *in, float *out, int64_t n,
                                            const double *scale, const double *shift)
{
    return scale_avx512(in, out, n, scale, shift, 0);
}

PFD_TARGET_AVX512 static int64_t each_avx512(const uint8_t *in, float *out, int64_t n,
                                             const double *scale, const double *shift)
{
    return scale_avx512(in, out, n, scale, shift, 1);
}
#endif

/* ---- Bytes to float32 by float32 ------------------------------------------------------------- */
#if defined(__x86_64__) || defined(__AARCH64EL__)

/* A byte has 256 values: where float32 arithmetic gives the same bits as float64 for all of them,
 * it is used: it is twice as fast. The scale is then the sum of two floats, exact to 48 bits. */
typedef struct short_factors {
    float high, low, shift;
} short_factors;

enum { all_bytes = 256, worth_trying = 8 * all_bytes };

#define SHORT(name, target)                                                                        \
    target static void short_##name(const uint8_t *restrict in, float *restrict out, int64_t n,    \
                                    const short_factors *by)                                       \
    {                                                                                              \
        const float high = by->high, low = by->low, shift = by->shift;                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = __builtin_fmaf(in[i], high, __builtin_fmaf(in[i], low, shift));               \
    }

#if defined(__x86_64__)
SHORT(avx2, PFD_TARGET_AVX2)
SHORT(avx512, PFD_TARGET_AVX512)
#else
SHORT(neon, )
#endif

static void scale_short(int32_t level, const uint8_t *in, float *out, int64_t n,
                        const short_factors *by)
{
#if defined(__x86_64__)
    (level >= PFD_SIMD_AVX512 ? short_avx512 : short_avx2)(in, out, n, by);
#else
    (void)level;
    short_neon(in, out, n, by);
#endif
}

static int64_t scale_long(int32_t level, const uint8_t *in, float *out, int64_t n,
                          const double *scale, const double *shift)
{
#if defined(__x86_64__)
    return (level >= PFD_SIMD_AVX512 ? one_avx512 : one_avx2)(in, out, n, scale, shift);
#else
    (void)level;
    scale_plain(in, out, n, scale, shift, 0);
    return n;
#endif
}

/* Returns how many elements it did: 0 where the bits would differ. */
static int64_t try_short(int32_t level, const uint8_t *in, float *out, int64_t n, double scale,
                         double shift)
{
    uint8_t bytes[all_bytes];
    float exact[all_bytes], found[all_bytes];
    short_factors by = {(float)scale, (float)(scale - (double)(float)scale), (float)shift};
    for (int i = 0; i < all_bytes; i++) bytes[i] = (uint8_t)i;
    (void)scale_long(level, bytes, exact, all_bytes, &scale, &shift);
    scale_short(level, bytes, found, all_bytes, &by);
    if (memcmp(exact, found, sizeof exact)) return 0;
    scale_short(level, in, out, n, &by);
    return n;
}
#endif

void pfd_scale_uint8(const uint8_t *in, float *out, int64_t n, double scale, double shift)
{
    int64_t i = 0;
#if defined(__x86_64__) || defined(__AARCH64EL__)
    int32_t level = pfd_simd_level();
    if (level > PFD_SIMD_PLAIN && n >= worth_trying)
        i = try_short(level, in, out, n, scale, shift);
    if (level > PFD_SIMD_PLAIN && i == 0) i = scale_long(level, in, out, n, &scale, &shift);
#endif
    scale_plain(in + i, out + i, n - i, &scale, &shift, 0);
}

void pfd_scale_each_uint8(const uint8_t *in, float *out, int64_t n, const double *scale,
                          const double *shift)
{
    int64_t i = 0;
#if defined(__x86_64__)
    int32_t level = pfd_simd_level();
    if (level >= PFD_SIMD_AVX512) i = each_avx512(in, out, n, scale, shift);
    if (level == PFD_SIMD_AVX2) i = each_avx2(in, out, n, scale, shift);
#endif
    scale_plain(in + i, out + i, n - i, scale + i, shift + i, 1);
}
