/* images/pixels/blend.h -- images mixed with what another function makes of them, by Pillow's rule.
 *
 * A factor of 0 gives the other image, 1 the image itself, more than 1 goes beyond it:
 * other + factor * (image - other), in float32, product and sum rounded one after the other.  The
 * result is clipped to 0 to 255, and its fraction cut off.
 */
#ifndef PFD_IMAGES_BLEND_H
#define PFD_IMAGES_BLEND_H
#include "images/pixels/image_rows.h"

uint8_t pfd_blend_number(float other, float image, float factor);

/* Grey of n RGB pixels: (19595 R + 38470 G + 7471 B + 32768) / 65536, as Image.convert("L"). */
void pfd_grey_of(const uint8_t *in, int64_t n, uint8_t *out);

/* The grey value of each pixel in all channels; of one channel, a copy. */
void pfd_grey_image(const pfd_image *in, uint8_t *out);

/* ImageEnhance.Color: blends with the grey image.  in and out may be the same memory. */
void pfd_adjust_saturation(const pfd_image *in, float factor, uint8_t *out);

/* ImageEnhance.Sharpness: blends with the image smoothed by (1 1 1, 1 5 1, 1 1 1) / 13, whose
 * pixels at the border are those of the image. */
void pfd_adjust_sharpness(const pfd_image *in, float factor, uint8_t *out);
#endif
