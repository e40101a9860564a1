/* images/pixels/resample_taps.h -- which pixels of a row, and how much of each, make an output pixel. */
#ifndef PFD_IMAGES_RESAMPLE_TAPS_H
#define PFD_IMAGES_RESAMPLE_TAPS_H
#include <stdint.h>

enum { PFD_WEIGHT_BITS = 22 }; /* fractional bits of a weight: 32 - 8 - 2, as in Pillow */

/* Output pixel i is the sum of weights[i * stride + j] * in[starts[i] + j], j < counts[i]. */
typedef struct pfd_taps {
    int64_t size;   /* output pixels */
    int64_t stride; /* weights of an output pixel that there is room for: even */
    int64_t most;   /* the largest count, rounded up to an even number */
    int64_t *starts;
    int64_t *counts;
    int32_t *weights; /* zeros after the counts */
} pfd_taps;

/* Where output pixels lie in the source. */
typedef struct pfd_axis {
    int64_t in_size, out_size;
    double begin, end; /* of the part of the source that is resampled, in pixels */
} pfd_axis;

/* No output pixel has more taps; an even number. */
int64_t pfd_most_taps(int32_t filter, const pfd_axis *axis);

/* Bytes that pfd_make_taps() needs, 8-byte aligned; -1: beyond all memory. */
int64_t pfd_taps_bytes(int32_t filter, const pfd_axis *axis);
void pfd_make_taps(int32_t filter, const pfd_axis *axis, void *memory, pfd_taps *out);
#endif
