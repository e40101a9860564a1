/* Blending: grey, smoothed and constant images with the image itself. */
#include "images/pixels/blend.h"

#include "core/cpu.h"

#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

/* Without FMA no compiler can fuse product and sum. */
#if defined(__x86_64__)
#define ONLY_AVX2 __attribute__((target("avx2")))
#endif

PFD_INLINE uint8_t blend(float other, float image, float factor)
{
    float distance = factor * (image - other);
    float value = other + distance;
    value = value > 0 ? value : 0;
    value = value < 255 ? value : 255;
    return (uint8_t)(int32_t)value;
}

uint8_t pfd_blend_number(float other, float image, float factor)
{
    return blend(other, image, factor);
}

/* ---- Grey ------------------------------------------------------------------------------------ */

PFD_INLINE int32_t grey_of(const uint8_t *rgb)
{
    return (int32_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

PFD_INLINE void greys(const uint8_t *restrict in, int64_t n, uint8_t *restrict out)
{
    for (int64_t i = 0; i < n; i++) out[i] = (uint8_t)grey_of(in + 3 * i);
}

PFD_INLINE void saturate(const uint8_t *in, int64_t n, float factor, uint8_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        float grey = (float)grey_of(in + 3 * i);
        for (int64_t c = 0; c < 3; c++)
            out[3 * i + c] = blend(grey, (float)in[3 * i + c], factor);
    }
}

#if defined(__x86_64__)
ONLY_AVX2 static void greys_avx2(const uint8_t *in, int64_t n, uint8_t *out)
{
    greys(in, n, out);
}

ONLY_AVX2 static void saturate_avx2(const uint8_t *in, int64_t n, float factor, uint8_t *out)
{
    saturate(in, n, factor, out);
}
#endif

void pfd_grey_of(const uint8_t *in, int64_t n, uint8_t *out)
{
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX2) {
        greys_avx2(in, n, out);
        return;
    }
#endif
    greys(in, n, out);
}

void pfd_grey_image(const pfd_image *in, uint8_t *out)
{
    int64_t pixels = in->height * in->width;
    if (in->channels == 1) {
        memcpy(out, in->data, (size_t)pixels);
        return;
    }
    for (int64_t i = 0; i < pixels; i++)
        out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = (uint8_t)grey_of(in->data + 3 * i);
}

void pfd_adjust_saturation(const pfd_image *in, float factor, uint8_t *out)
{
    int64_t pixels = in->height * in->width;
    if (in->channels == 1) {
        memmove(out, in->data, (size_t)pixels);
        return;
    }
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX2) {
        saturate_avx2(in->data, pixels, factor, out);
        return;
    }
#endif
    saturate(in->data, pixels, factor, out);
}

/* ---- Sharpness ------------------------------------------------------------------------------- */

/* (2 sum + 13) / 26 = (2 sum + 13) * 20165 / 2^19 for every sum up to 13 * 255. */
PFD_INLINE float smoothed(const uint8_t *above, const uint8_t *at, const uint8_t *below, int64_t c)
{
    uint32_t sum = (uint32_t)above[-c] + above[0] + above[c] + at[-c] + 5u * at[0] + at[c] +
                   below[-c] + below[0] + below[c];
    return (float)(int32_t)((2 * sum + 13) * 20165u >> 19);
}

/* n numbers of a row, between its first and its last pixel. */
PFD_INLINE void sharpen(const uint8_t *in, int64_t row_bytes, int64_t channels, int64_t n,
                        float factor, uint8_t *restrict out)
{
    const uint8_t *above = in - row_bytes, *below = in + row_bytes;
    for (int64_t i = 0; i < n; i++)
        out[i] = blend(smoothed(above + i, in + i, below + i, channels), (float)in[i], factor);
}

#if defined(__x86_64__)
ONLY_AVX2 static void sharpen_avx2(const uint8_t *in, int64_t row_bytes, int64_t channels,
                                   int64_t n, float factor, uint8_t *out)
{
    sharpen(in, row_bytes, channels, n, factor, out);
}
#endif

void pfd_adjust_sharpness(const pfd_image *in, float factor, uint8_t *out)
{
    int64_t channels = in->channels, row_bytes = in->width * channels;
    memcpy(out, in->data, (size_t)(in->height * row_bytes));
    if (in->width < 3) return;
    for (int64_t y = 1; y + 1 < in->height; y++) {
        int64_t first = y * row_bytes + channels, n = row_bytes - 2 * channels;
#if defined(__x86_64__)
        if (pfd_simd_level() >= PFD_SIMD_AVX2) {
            sharpen_avx2(in->data + first, row_bytes, channels, n, factor, out + first);
            continue;
        }
#endif
        sharpen(in->data + first, row_bytes, channels, n, factor, out + first);
    }
}
