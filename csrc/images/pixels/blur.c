/* Gaussian blur: along each row into numbers of 16 bits, then along each column. */
#include "images/pixels/blur.h"

#include "core/cpu.h"
#include "core/random.h"

#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

enum { whole = 1 << 16, block = 512 };

/* Their sum is 1 << 16: what rounding leaves goes to the one in the middle. */
static void make_weights(int32_t n, double sigma, uint32_t *weights)
{
    double exact[PFD_MAX_BLUR], sum = 0;
    int64_t left = whole;
    for (int32_t i = 0; i < n; i++) {
        double d = (i - n / 2) / sigma;
        exact[i] = pfd_exp(-0.5 * (d * d));
        sum += exact[i];
    }
    for (int32_t i = 0; i < n; i++) {
        weights[i] = (uint32_t)(exact[i] / sum * (double)whole + 0.5);
        left -= weights[i];
    }
    weights[n / 2] = (uint32_t)(weights[n / 2] + left);
}

/* The place in [0, n) that i is the mirror image of. */
static int64_t mirrored(int64_t i, int64_t n)
{
    int64_t period = 2 * (n - 1);
    if (period == 0) return 0;
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : period - i;
}

PFD_INLINE void add_bytes(const uint8_t *restrict in, uint32_t weight, int64_t n,
                          uint32_t *restrict sums)
{
    for (int64_t i = 0; i < n; i++) sums[i] += weight * in[i];
}

PFD_INLINE void add_numbers(const uint16_t *restrict in, uint32_t weight, int64_t n,
                            uint32_t *restrict sums)
{
    for (int64_t i = 0; i < n; i++) sums[i] += weight * in[i];
}

/* n numbers of a row: those of pixel k of the kernel begin at in + k * channels. */
PFD_INLINE void blur_row(const uint8_t *in, const uint32_t *weights, int64_t size, int64_t channels,
                         int64_t n, uint16_t *out)
{
    uint32_t sums[block];
    for (int64_t i = 0, part; i < n; i += part) {
        part = n - i < block ? n - i : block;
        for (int64_t k = 0; k < part; k++) sums[k] = 1u << 7;
        for (int64_t k = 0; k < size; k++)
            add_bytes(in + i + k * channels, weights[k], part, sums);
        for (int64_t k = 0; k < part; k++) out[i + k] = (uint16_t)(sums[k] >> 8);
    }
}

/* n numbers of columns, which are those of rows[k] for number k of the kernel. */
PFD_INLINE void blur_columns(const uint16_t *const *rows, const uint32_t *weights, int64_t size,
                             int64_t n, uint8_t *out)
{
    uint32_t sums[block];
    for (int64_t i = 0, part; i < n; i += part) {
        part = n - i < block ? n - i : block;
        for (int64_t k = 0; k < part; k++) sums[k] = 1u << 23;
        for (int64_t k = 0; k < size; k++) add_numbers(rows[k] + i, weights[k], part, sums);
        for (int64_t k = 0; k < part; k++) out[i + k] = (uint8_t)(sums[k] >> 24);
    }
}

#if defined(__x86_64__)
PFD_TARGET_AVX2 static void blur_row_avx2(const uint8_t *in, const uint32_t *weights, int64_t size,
                                          int64_t channels, int64_t n, uint16_t *out)
{
    blur_row(in, weights, size, channels, n, out);
}

PFD_TARGET_AVX2 static void blur_columns_avx2(const uint16_t *const *rows, const uint32_t *weights,
                                              int64_t size, int64_t n, uint8_t *out)
{
    blur_columns(rows, weights, size, n, out);
}
#endif

/* One row with its mirrored pixels on both sides. */
static void widen(const uint8_t *in, int64_t width, int64_t channels, int64_t radius, uint8_t *out)
{
    for (int64_t x = -radius; x < 0; x++, out += channels)
        memcpy(out, in + mirrored(x, width) * channels, (size_t)channels);
    memcpy(out, in, (size_t)(width * channels));
    out += width * channels;
    for (int64_t x = width; x < width + radius; x++, out += channels)
        memcpy(out, in + mirrored(x, width) * channels, (size_t)channels);
}

static void blur_rows(const pfd_image *in, const uint32_t *weights, int64_t size, uint8_t *wide,
                      uint16_t *out)
{
    int64_t row = in->width * in->channels;
    for (int64_t y = 0; y < in->height; y++) {
        widen(in->data + y * row, in->width, in->channels, size / 2, wide);
#if defined(__x86_64__)
        if (pfd_simd_level() >= PFD_SIMD_AVX2) {
            blur_row_avx2(wide, weights, size, in->channels, row, out + y * row);
            continue;
        }
#endif
        blur_row(wide, weights, size, in->channels, row, out + y * row);
    }
}

pfd_status pfd_gaussian_blur(const pfd_compute_args *args, const pfd_image *in,
                             const pfd_blur *blur, uint8_t *out, pfd_room *room, pfd_error *err)
{
    uint32_t weights[PFD_MAX_BLUR];
    const uint16_t *rows[PFD_MAX_BLUR];
    int64_t row = in->width * in->channels;
    int64_t half_bytes = in->height * row * (int64_t)sizeof(uint16_t);
    uint16_t *half =
        pfd_room_for(args, room, half_bytes + row + blur->width * in->channels, err);
    if (!half) return err->status;
    uint8_t *wide = (uint8_t *)half + half_bytes;
    make_weights(blur->width, blur->sigma, weights);
    blur_rows(in, weights, blur->width, wide, half);
    make_weights(blur->height, blur->sigma, weights);
    for (int64_t y = 0; y < in->height; y++) {
        for (int32_t k = 0; k < blur->height; k++)
            rows[k] = half + mirrored(y + k - blur->height / 2, in->height) * row;
#if defined(__x86_64__)
        if (pfd_simd_level() >= PFD_SIMD_AVX2) {
            blur_columns_avx2(rows, weights, blur->height, row, out + y * row);
            continue;
        }
#endif
        blur_columns(rows, weights, blur->height, row, out + y * row);
    }
    return PFD_OK;
}
