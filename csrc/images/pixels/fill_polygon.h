/* images/pixels/fill_polygon.h -- the pixels inside a polygon. */
#ifndef PFD_IMAGES_FILL_POLYGON_H
#define PFD_IMAGES_FILL_POLYGON_H
#include <stdint.h>

typedef struct pfd_mask {
    uint8_t *pixels; /* height x width */
    int64_t height, width;
} pfd_mask;

/* Sets the pixels whose centres are inside a polygon of n points x, y, by the even-odd rule, to 1.
 * Of a centre on an edge: a left or upper edge is inside, a right or lower one outside, so that two
 * polygons that share an edge share no pixel.  `room` holds n numbers. */
void pfd_fill_polygon(const float *points, int64_t n, double *room, const pfd_mask *mask);
#endif
