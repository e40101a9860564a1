/* images/pixels/warp_rows.h -- the loops over the pixels of a warped row. */
#ifndef PFD_IMAGES_WARP_ROWS_H
#define PFD_IMAGES_WARP_ROWS_H
#include "images/pixels/resample.h"

#define PFD_PLACE_ONE (INT64_C(1) << 32) /* a pixel */

/* The places of a row in the source: `first`, and `step` farther for each pixel. */
typedef struct pfd_place_line {
    int64_t first, step;
} pfd_place_line;

/* Output pixels [begin, end). */
typedef struct pfd_span {
    int64_t begin, end;
} pfd_span;

typedef struct pfd_warp_row {
    const pfd_image_part *in;
    pfd_place_line x, y; /* in [0, width) and [0, height) for the pixels of the spans */
    int64_t width;       /* pixels of `out` */
    uint8_t *out;
} pfd_warp_row;

void pfd_warp_nearest(const pfd_warp_row *row, pfd_span pixels);

/* `inner` are those of the pixels whose places are in [0.5, width - 1.5) and [0.5, height - 0.5),
 * or none. */
void pfd_warp_bilinear(const pfd_warp_row *row, pfd_span pixels, pfd_span inner);
#endif
