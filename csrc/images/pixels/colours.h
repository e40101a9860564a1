/* images/pixels/colours.h -- changes of colour, bit for bit those of Pillow.
 *
 * Images are of uint8 with 1 or 3 channels. in and out may be the same memory, except for
 * pfd_adjust_sharpness().
 */
#ifndef PFD_IMAGES_PIXELS_COLOURS_H
#define PFD_IMAGES_PIXELS_COLOURS_H
#include "images/pixels/image_rows.h"

/* ---- Blends ---------------------------------------------------------------------------------- */

/* Mixes an image with another image by Pillow's rule.
 *
 * A factor of 0 gives the other image, 1 the image itself, more than 1 goes beyond it:
 * other + factor * (image - other), in float32, product and sum rounded one after the other.  The
 * result is clipped to 0 to 255, and its fraction cut off.
 */

/* Computes the grey of n RGB pixels: (19595 R + 38470 G + 7471 B + 32768) / 65536, as
 * Image.convert("L"). */
void pfd_grey_of(const uint8_t *in, int64_t n, uint8_t *out);

/* Writes the grey of each pixel to all channels; copies an image of one channel. */
void pfd_grey_image(const pfd_image *in, uint8_t *out);

/* ImageEnhance.Color: blends with the grey image. */
void pfd_adjust_saturation(const pfd_image *in, float factor, uint8_t *out);

/* ImageEnhance.Sharpness: blends with the image smoothed by (1 1 1, 1 5 1, 1 1 1) / 13, whose
 * border pixels are the image's own. */
void pfd_adjust_sharpness(const pfd_image *in, float factor, uint8_t *out);

/* ---- Tables: what each number of a channel becomes ------------------------------------------- */

/* ImageEnhance.Brightness: numbers are multiplied by the factor. */
void pfd_adjust_brightness(const pfd_image *in, float factor, uint8_t *out);

/* ImageEnhance.Contrast: the distance from the mean grey is multiplied by the factor. */
void pfd_adjust_contrast(const pfd_image *in, float factor, uint8_t *out);

/* ImageOps.invert: 255 - x. */
void pfd_invert(const pfd_image *in, uint8_t *out);

/* ImageOps.solarize: 255 - x from the threshold on. */
void pfd_solarize(const pfd_image *in, double threshold, uint8_t *out);

/* ImageOps.posterize: the highest bits, 0 to 8. */
void pfd_posterize(const pfd_image *in, int64_t bits, uint8_t *out);

/* ImageOps.equalize: each number about as often as the others, channel by channel. */
void pfd_equalize(const pfd_image *in, uint8_t *out);

/* ImageOps.autocontrast: from 0 to 255, channel by channel. */
void pfd_autocontrast(const pfd_image *in, uint8_t *out);

/* ---- Hue ------------------------------------------------------------------------------------- */

/* Adds `turn` to the hue of RGB pixels: -0.5 to 0.5, where 1 is a whole turn. Hue, saturation and
 * value are rounded to bytes, as in Image.convert("HSV"), so that a turn of 0 changes pixels, too.
 * Images of one channel stay the same. */
void pfd_adjust_hue(const pfd_image *in, double turn, uint8_t *out);
#endif
