/* images/pixels/resample_kernels.h -- the loops over pixels of resample.c, for each level of vectors. */
#ifndef PFD_IMAGES_RESAMPLE_KERNELS_H
#define PFD_IMAGES_RESAMPLE_KERNELS_H
#include "images/pixels/resample_taps.h"

enum {
    PFD_ROWS_AT_ONCE = 4, /* that are resampled at once */
    PFD_ROW_SLACK = 32    /* bytes after a row that may be read or written with it */
};

/* Which two neighbouring pixels make an output pixel of point_bilinear, and how much of each. */
typedef struct pfd_pixel_pair {
    int32_t first;      /* bytes from the beginning of the row */
    int16_t weights[2]; /* sum 2^14 */
} pfd_pixel_pair;

typedef struct pfd_resample_kernels {
    /* Rearranges the weights for resample_rows(). NULL: they stay as they are. */
    void (*prepare)(pfd_taps *taps, int64_t in_size);

    /* Resamples rows to taps->size output pixels each. It may read taps->most pixels and
     * PFD_ROW_SLACK bytes after the end of a row. */
    void (*resample_rows)(const pfd_taps *taps, const uint8_t *const in[PFD_ROWS_AT_ONCE],
                          uint8_t *const out[PFD_ROWS_AT_ONCE], int64_t channels);

    /* The weighted sum of `count` rows of n bytes. */
    void (*sum_rows)(const uint8_t *const *rows, const int32_t *weights, int64_t count,
                     uint8_t *out, int64_t n);

    /* out = 64 a + round(64 (b - a) weight / 2^15), halves up; n numbers in [0, 64 * 255]. */
    void (*mix_rows)(const uint8_t *a, const uint8_t *b, int32_t weight, int16_t *out, int64_t n);

    /* A row of `width` pixels: the sums of pairs of numbers of mix_rows(), divided by 2^20 and
     * rounded, halves up. It may read PFD_ROW_SLACK bytes beyond the last pixel. */
    void (*mix_pixels)(const int16_t *in, const pfd_pixel_pair *pairs, uint8_t *out, int64_t width,
                       int64_t channels);
} pfd_resample_kernels;

/* Of this level, PFD_SIMD_*. */
const pfd_resample_kernels *pfd_resample_kernels_at(int32_t level);

extern const pfd_resample_kernels pfd_resample_plain;
#if defined(__x86_64__)
extern const pfd_resample_kernels pfd_resample_avx2;
#endif
#endif
