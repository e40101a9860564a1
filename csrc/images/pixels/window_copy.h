/* images/pixels/window_copy.h -- pixels copied from a window of an image, which may reach beyond its
 * edges.
 */
#ifndef PFD_IMAGES_WINDOW_COPY_H
#define PFD_IMAGES_WINDOW_COPY_H
#include "images/pixels/random_window.h"
#include "images/pixels/image_rows.h"

/* What is beyond the edges: the numbers of the attr's choices. */
#define PFD_BORDERS "constant|edge|reflect|symmetric"
#define PFD_BORDER_DOC                                                                             \
    "What is put around an image: 'constant' the value fill, 'edge' the pixel at the edge, "       \
    "'reflect' the image mirrored at its edge pixels, 'symmetric' mirrored with them doubled; as " \
    "numpy.pad and torchvision."
enum { PFD_BORDER_CONSTANT, PFD_BORDER_EDGE, PFD_BORDER_REFLECT, PFD_BORDER_SYMMETRIC };

enum { PFD_MOST_PIXEL_BYTES = PFD_MAX_CHANNELS * 8 };

typedef struct pfd_border {
    int32_t kind;                       /* PFD_BORDER_* */
    uint8_t fill[PFD_MOST_PIXEL_BYTES]; /* a pixel */
} pfd_border;

/* Copies window->height x window->width pixels to `out`.  Top and left may be negative.  The image
 * has at least one pixel, except with PFD_BORDER_CONSTANT. */
void pfd_copy_window(const pfd_image *image, int64_t pixel_bytes, const pfd_window *window,
                     const pfd_border *border, uint8_t *out);
#endif
