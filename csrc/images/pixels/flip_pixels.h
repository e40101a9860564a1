/* images/pixels/flip_pixels.h -- mirrored images. */
#ifndef PFD_IMAGES_FLIP_PIXELS_H
#define PFD_IMAGES_FLIP_PIXELS_H
#include "images/pixels/image_rows.h"

/* A sum of these. */
enum { PFD_FLIP_HORIZONTAL = 1, PFD_FLIP_VERTICAL = 2 };

/* Writes the image to `out`, another place, mirrored left to right, top to bottom, or both. */
void pfd_flip_pixels(const pfd_image *image, int64_t pixel_bytes, int32_t flips, uint8_t *out);

/* Output row i of an op: row i of input 0, of the same type, with these flips; without any, it is
 * not copied where that can be. */
pfd_status pfd_flip_image(const pfd_compute_args *args, int64_t i, int32_t flips, pfd_error *err);
#endif
