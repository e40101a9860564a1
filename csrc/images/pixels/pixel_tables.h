/* images/pixels/pixel_tables.h -- changes of colour that map each number of a channel by a table.
 *
 * They are brightness, contrast and the functions of Pillow's ImageOps, bit for bit.
 *
 * Images have 1 or 3 channels; in and out may be the same memory.
 */
#ifndef PFD_IMAGES_PIXEL_TABLES_H
#define PFD_IMAGES_PIXEL_TABLES_H
#include "images/pixels/image_rows.h"

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
#endif
