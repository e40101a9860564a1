/* The loops of resampling without vector instructions: what the others must equal. */
#include "images/pixels/resample_kernels.h"

#include "core/cpu.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

static uint8_t clip(int32_t sum)
{
    int32_t value = (sum + (1 << (PFD_WEIGHT_BITS - 1))) >> PFD_WEIGHT_BITS;
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

PFD_INLINE void resample_row(const pfd_taps *taps, const uint8_t *in, uint8_t *out,
                             int64_t channels)
{
    for (int64_t i = 0; i < taps->size; i++) {
        const uint8_t *first = in + taps->starts[i] * channels;
        const int32_t *weights = taps->weights + i * taps->stride;
        for (int64_t c = 0; c < channels; c++) {
            int32_t sum = 0;
            for (int64_t j = 0; j < taps->counts[i]; j++)
                sum += weights[j] * first[j * channels + c];
            out[i * channels + c] = clip(sum);
        }
    }
}

static void resample_rows(const pfd_taps *taps, const uint8_t *const in[PFD_ROWS_AT_ONCE],
                          uint8_t *const out[PFD_ROWS_AT_ONCE], int64_t channels)
{
    for (int row = 0; row < PFD_ROWS_AT_ONCE; row++) {
        if (channels == 3)
            resample_row(taps, in[row], out[row], 3);
        else if (channels == 1)
            resample_row(taps, in[row], out[row], 1);
        else
            resample_row(taps, in[row], out[row], channels);
    }
}

static void sum_rows(const uint8_t *const *rows, const int32_t *weights, int64_t count,
                     uint8_t *restrict out, int64_t n)
{
    enum { block = 256 };
    int32_t sums[block];
    for (int64_t begin = 0; begin < n; begin += block) {
        int64_t size = n - begin < block ? n - begin : block;
        for (int64_t i = 0; i < size; i++) sums[i] = 0;
        for (int64_t row = 0; row < count; row++)
            for (int64_t i = 0; i < size; i++) sums[i] += weights[row] * rows[row][begin + i];
        for (int64_t i = 0; i < size; i++) out[begin + i] = clip(sums[i]);
    }
}

static void mix_rows(const uint8_t *a, const uint8_t *b, int32_t weight, int16_t *restrict out,
                     int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t distance = (b[i] - a[i]) * 64;
        out[i] = (int16_t)(a[i] * 64 + ((distance * weight + (1 << 14)) >> 15));
    }
}

static void mix_pixels(const int16_t *in, const pfd_pixel_pair *pairs, uint8_t *out, int64_t width,
                       int64_t channels)
{
    for (int64_t i = 0; i < width; i++) {
        const int16_t *first = (const void *)((const uint8_t *)in + pairs[i].first);
        for (int64_t c = 0; c < channels; c++) {
            int32_t sum = first[c] * pairs[i].weights[0];
            sum += first[channels + c] * pairs[i].weights[1];
            out[i * channels + c] = (uint8_t)((sum + (1 << 19)) >> 20);
        }
    }
}

const pfd_resample_kernels pfd_resample_plain = {
    .resample_rows = resample_rows,
    .sum_rows = sum_rows,
    .mix_rows = mix_rows,
    .mix_pixels = mix_pixels,
};
