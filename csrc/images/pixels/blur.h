/* images/pixels/blur.h -- Gaussian blur by torchvision's rule.
 *
 * Weights of a kernel are exp(-d^2 / (2 sigma^2)), divided by their sum, where d is the distance
 * from its middle in pixels.  Beyond its border the image is mirrored, without repeating the pixels
 * of the border.  Weights have 16 bits and sums are integers, so that results are the same on every
 * machine, and differ from those of floats by one at most.
 */
#ifndef PFD_IMAGES_BLUR_H
#define PFD_IMAGES_BLUR_H
#include "images/pixels/each_image.h"

enum { PFD_MAX_BLUR = 255 }; /* numbers in a kernel */

typedef struct pfd_blur {
    int32_t height, width; /* of the kernel, odd, 1 to PFD_MAX_BLUR */
    double sigma;          /* pixels, above 0 */
} pfd_blur;

pfd_status pfd_gaussian_blur(const pfd_compute_args *args, const pfd_image *in,
                             const pfd_blur *blur, uint8_t *out, pfd_room *room,
                             pfd_error *err);
#endif
