/* images/pixels/affine_warp.h -- rotated, scaled, sheared and moved images of uint8.
 *
 * An output pixel takes its colour from a place of the source.  Places are integers with 32
 * fractional bits, 16 for nearest pixels, and so the results are the same on every machine.  The
 * results equal Pillow's Image.transform(AFFINE), but bilinear colours are rounded, where Pillow
 * cuts the fraction off.
 */
#ifndef PFD_IMAGES_PIXELS_AFFINE_WARP_H
#define PFD_IMAGES_PIXELS_AFFINE_WARP_H
#include "images/pixels/resample.h"

/* Where the centre of the output pixel at (x, y) = (column + 0.5, row + 0.5) lies in the source:
 * (xx * x + xy * y + x0, yx * x + yy * y + y0).  These are Pillow's six numbers, in its order. */
typedef struct pfd_affine {
    double xx, xy, x0, yx, yy, y0;
} pfd_affine;

/* What is done to the source: it is sheared, rotated and scaled around a centre, then moved.  This
 * is torchvision's affine(), whose angle turns clockwise; the angles of torchvision's and Pillow's
 * rotate() turn counter-clockwise. */
typedef struct pfd_affine_motion {
    double angle;            /* degrees, clockwise */
    double shear_x, shear_y; /* degrees, within +-89 */
    double scale;            /* > 0 */
    double right, down;      /* pixels to move by */
    double centre_x, centre_y;
} pfd_affine_motion;

/* The places in the source for a motion of the source. */
pfd_affine pfd_affine_of(const pfd_affine_motion *motion);

/* Warps `in` to (height, width) at `out`.  `bilinear` 1: the mean of the four nearest pixels by
 * distance, where a pixel beyond the edge equals the pixel at the edge; 0: the pixel that has the
 * place. If the place is not in the source, the pixel is `fill`.  Sides are at most 65535. */
void pfd_affine_warp(const pfd_image_region *in, const pfd_affine *places, int32_t bilinear,
                     const uint8_t fill[4], uint8_t *out, int64_t height, int64_t width);
#endif
