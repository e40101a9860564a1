/* images/pixels/normalize_pixels.h -- converts pixels of bytes to floats: (x - mean) * scale.
 *
 * The arithmetic is float32: the difference is rounded, then the product; for floats of 16 bits,
 * the result is rounded once more. Results are the same on every machine.
 */
#ifndef PFD_IMAGES_PIXELS_NORMALIZE_PIXELS_H
#define PFD_IMAGES_PIXELS_NORMALIZE_PIXELS_H
#include "images/pixels/image_rows.h"

typedef struct pfd_normalization {
    int32_t channels; /* 1 to PFD_MAX_CHANNELS */
    int32_t is_planar; /* 1: (channels, height, width), 0: (height, width, channels) */
    int32_t dtype;     /* PFD_FLOAT32, PFD_FLOAT16 or PFD_BFLOAT16 */
    float mean[PFD_MAX_CHANNELS], scale[PFD_MAX_CHANNELS];
} pfd_normalization;

/* Normalizes height x width pixels, whose rows begin every row_bytes bytes. `mirror` 1: each row
 * from right to left. `out` has room for all pixels, without gaps. */
void pfd_normalize(const pfd_normalization *how, const uint8_t *in, int64_t row_bytes,
                   int64_t height, int64_t width, int32_t mirror, void *out);

/* As pfd_normalize(), for pixels of float32. */
void pfd_normalize_float32(const pfd_normalization *how, const float *in, int64_t height,
                           int64_t width, void *out);

/* ---- Attrs of ops ---------------------------------------------------------------------------- */

/* The attrs mean and std, with their defaults; `numbers` says which numbers they are for. */
#define PFD_MEAN_STD_ATTRS(owner, default_mean, default_std, numbers)                              \
    PFD_FLOATS_ATTR(owner, mean, default_mean, 0, 0,                                               \
                    "Subtracted from " numbers ": one, or one for each channel."),                 \
        PFD_FLOATS_ATTR(owner, std, default_std, 0, 0,                                             \
                        "The divisor of the difference: one number, or one for each channel.")

/* Fails unless mean and std have one number or one for each channel, and each std is above 0. */
pfd_status pfd_check_mean_std(const pfd_infer_args *args, const pfd_list_float64 *mean,
                              const pfd_list_float64 *std, int64_t channels, pfd_error *err);

/* Sets channels, mean and scale; mean and std are multiplied by `unit`, and then rounded. */
void pfd_set_mean_std(pfd_normalization *how, const pfd_list_float64 *mean,
                      const pfd_list_float64 *std, int64_t channels, double unit);

/* The type of a normalized image of this size; a dimension of -1 varies. */
pfd_row_type pfd_normalized_type(int32_t dtype, int32_t is_planar, int64_t channels,
                                 int64_t height, int64_t width);
#endif
