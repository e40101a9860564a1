/* images/pixels/interpolation.h -- the filters by which images get another size, and the attrs that choose
 * one.
 *
 * A filter says what an output pixel is made of.  Pixels have centres at half coordinates: output
 * pixel x of n lies at (x + 0.5) * size / n of the source.
 *
 *   bilinear, bicubic (a = -0.5), lanczos (3 lobes)
 *       Antialiased: the filter is widened where the image becomes smaller.  The arithmetic is
 *       Pillow's: weights are rounded to 22 bits; each row is resampled and rounded to uint8, then
 *       each column, or columns before rows where the height shrinks by more than twice what the
 *       width does.  Results equal those of Image.resize() of Pillow 13, and of versions before
 *       where rows come first.
 *   area
 *       The average of what an output pixel covers, OpenCV's INTER_AREA; in the same arithmetic.
 *   point_bilinear, point_bicubic (a = -0.75)
 *       From the 2 x 2 or 4 x 4 nearest pixels, also where the image becomes smaller: OpenCV's
 *       INTER_LINEAR and INTER_CUBIC.
 *   nearest
 *       The pixel that the place is in, as Pillow's NEAREST.
 */
#ifndef PFD_IMAGES_INTERPOLATION_H
#define PFD_IMAGES_INTERPOLATION_H
#include "pyflowdata/op.h"

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
    "takes the pixel that a place is in, 'area' averages what an output pixel covers, as OpenCV."
#define PFD_ANTIALIAS_DOC                                                                          \
    "Whether bilinear and bicubic average over more pixels where an image becomes smaller, as "    \
    "Pillow and torchvision do. false: over 2 x 2 or 4 x 4 pixels always, as OpenCV; faster, "     \
    "with jagged edges."

/* The filter of the attrs interpolation and antialias.  Fails for lanczos without antialias. */
pfd_status pfd_filter_of(const pfd_host *host, int32_t interpolation, int32_t antialias,
                         int32_t *filter, pfd_error *err);
#endif
