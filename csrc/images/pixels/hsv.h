/* images/pixels/hsv.h -- turning the hue, as torchvision does it with Pillow. */
#ifndef PFD_IMAGES_HSV_H
#define PFD_IMAGES_HSV_H
#include "images/pixels/image_rows.h"

/* Adds `turn` to the hue of RGB pixels, a whole turn is 1, -0.5 to 0.5.  Hue, saturation and value
 * are bytes in between, as in Image.convert("HSV"), so that a turn of 0 changes pixels too.  Images
 * of one channel stay the same.  in and out may be the same memory. */
void pfd_adjust_hue(const pfd_image *in, double turn, uint8_t *out);
#endif
