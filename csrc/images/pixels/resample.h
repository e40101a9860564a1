/* images/pixels/resample.h -- another size for images of uint8: the filters, and the attrs that
 * choose one.
 *
 * Channels are resampled one by one; alpha is a channel like the others. Results are the same with
 * and without vector instructions.
 *
 * A filter says what an output pixel is made of.  Pixels have centres at half coordinates: output
 * pixel x of n lies at (x + 0.5) * size / n of the source.
 *
 *   bilinear, bicubic (a = -0.5), lanczos (3 lobes)
 *       Antialiased: the filter is widened where the image becomes smaller.  The arithmetic is
 *       Pillow's: weights are rounded to 22 bits; each row is resampled and rounded to uint8, then
 *       each column, or columns before rows where the height shrinks by more than twice what the
 *       width does.  Results equal Image.resize() of Pillow 13, and also of earlier versions where
 *       rows come first.
 *   area
 *       The average of what an output pixel covers, as OpenCV's INTER_AREA; in the same arithmetic.
 *   point_bilinear, point_bicubic (a = -0.75)
 *       Uses the 2 x 2 or 4 x 4 nearest pixels, even if the image becomes smaller: OpenCV's
 *       INTER_LINEAR and INTER_CUBIC.
 *   nearest
 *       The pixel that has the place, as Pillow's NEAREST.
 */
#ifndef PFD_IMAGES_PIXELS_RESAMPLE_H
#define PFD_IMAGES_PIXELS_RESAMPLE_H
#include "images/pixels/image_rows.h"

/* ---- Filters --------------------------------------------------------------------------------- */

/* The attr `interpolation`: the numbers of its choices. */
#define PFD_INTERPOLATIONS "nearest|bilinear|bicubic|lanczos|area"
enum {
    PFD_NEAREST,
    PFD_BILINEAR,
    PFD_BICUBIC,
    PFD_LANCZOS,
    PFD_AREA,
    PFD_POINT_BILINEAR,
    PFD_POINT_BICUBIC,
};

#define PFD_INTERPOLATION_DOC                                                                      \
    "How pixels are resampled: 'bilinear', 'bicubic' and 'lanczos' equal Pillow's, 'nearest' "     \
    "takes the pixel that contains a place, 'area' averages the pixels that an output pixel "      \
    "covers, as OpenCV does."
#define PFD_ANTIALIAS_DOC                                                                          \
    "Whether bilinear and bicubic average over more pixels where an image becomes smaller, as "    \
    "Pillow and torchvision do. false: they always average over 2 x 2 or 4 x 4 pixels, as OpenCV " \
    "does; this is faster, but makes edges jagged."

/* The filter of the attrs interpolation and antialias.  Fails for lanczos without antialias. */
pfd_status pfd_filter_of(const pfd_host *host, int32_t interpolation, int32_t antialias,
                         int32_t *filter, pfd_error *err);

/* ---- Images ---------------------------------------------------------------------------------- */

/* A region of an image, in coordinates of pixels: 0 <= top < bottom <= height, and so on. */
typedef struct pfd_box {
    double top, left, bottom, right;
} pfd_box;

/* Memory and tables from a scratch, which images use one after the other. At first all is zero but
 * host and scratch. One thread uses it. */
typedef struct pfd_resampler {
    const pfd_host *host;
    pfd_scratch *scratch;
    uint8_t *memory; /* `capacity` bytes */
    int64_t capacity, used;
} pfd_resampler;

/* Resamples a box of the pixels (NULL: all pixels) to (height, width, channels) at `out`. Pixels
 * around the box take part where the filter reaches them, as with the box of Image.resize(); to
 * leave these out, pass the region alone. */
pfd_status pfd_resample(pfd_resampler *resampler, int32_t filter, const pfd_image_region *in,
                        const pfd_box *box, uint8_t *out, int64_t height, int64_t width,
                        pfd_error *err);

/* ---- The loops, for each level of vectors: tests compare them -------------------------------- */

enum { PFD_WEIGHT_BITS = 22 }; /* fractional bits of a weight: 32 - 8 - 2, as in Pillow */

/* Output pixel i is the sum of weights[i * stride + j] * in[starts[i] + j], j < counts[i]. */
typedef struct pfd_taps {
    int64_t size;   /* output pixels */
    int64_t stride; /* room for weights of an output pixel: even */
    int64_t most;   /* the largest count, rounded up to an even number */
    int64_t *starts;
    int64_t *counts;
    int32_t *weights; /* zeros after the counts */
} pfd_taps;

/* Where output pixels lie in the source. */
typedef struct pfd_axis {
    int64_t in_size, out_size;
    double begin, end; /* bounds of the region of the source that is resampled, in pixels */
} pfd_axis;

/* Bytes that pfd_make_taps() needs, 8-byte aligned; -1: beyond all memory. */
int64_t pfd_taps_bytes(int32_t filter, const pfd_axis *axis);

void pfd_make_taps(int32_t filter, const pfd_axis *axis, void *memory, pfd_taps *out);

enum {
    PFD_ROWS_AT_ONCE = 4, /* rows that are resampled at once */
    PFD_ROW_SLACK = 32    /* bytes after a row that may be read or written with it */
};

/* The two neighbouring pixels that make an output pixel of point_bilinear, and the weight of
 * each. */
typedef struct pfd_pixel_pair {
    int32_t first;      /* bytes from the beginning of the row */
    int16_t weights[2]; /* sum 2^14 */
} pfd_pixel_pair;

typedef struct pfd_resample_kernels {
    /* Rearranges the weights for resample_rows(). NULL: nothing to rearrange. */
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

    /* Mixes a row of `width` pixels: sums of pairs of numbers of mix_rows(), divided by 2^20 and
     * rounded, halves up. It may read PFD_ROW_SLACK bytes beyond the last pixel. */
    void (*mix_pixels)(const int16_t *in, const pfd_pixel_pair *pairs, uint8_t *out, int64_t width,
                       int64_t channels);
} pfd_resample_kernels;

/* The loops of a level, PFD_SIMD_*. Results are the same on each. */
const pfd_resample_kernels *pfd_resample_kernels_at(int32_t level);
#endif
