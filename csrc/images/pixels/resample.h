/* images/pixels/resample.h -- another size for images of uint8; interpolation.h has the filters.
 *
 * Channels are resampled one by one; alpha is a channel like the others.  Results are the same with
 * and without vector instructions.
 */
#ifndef PFD_IMAGES_RESAMPLE_H
#define PFD_IMAGES_RESAMPLE_H
#include "pyflowdata/op.h"

/* Pixels of an image, or of a part of it. */
typedef struct pfd_image_part {
    const uint8_t *data;
    int64_t height, width, channels; /* >= 1; 1 to 4 channels */
    int64_t stride;                  /* bytes from a row to the next */
} pfd_image_part;

/* A part of an image, in coordinates of pixels: 0 <= top < bottom <= height, and so on. */
typedef struct pfd_box {
    double top, left, bottom, right;
} pfd_box;

/* Memory and tables that are used for one image after the other, from a scratch.  All zero but for
 * host and scratch; one thread. */
typedef struct pfd_resampler {
    const pfd_host *host;
    pfd_scratch *scratch;
    uint8_t *memory; /* of `capacity` bytes */
    int64_t capacity, used;
} pfd_resampler;

/* Resamples a box of the pixels, NULL: all of them, to (height, width, channels) at `out`.  Pixels
 * around the box take part where the filter reaches them, as with the box of Image.resize(); to
 * leave them out, pass the part alone. */
pfd_status pfd_resample(pfd_resampler *resampler, int32_t filter, const pfd_image_part *in,
                        const pfd_box *box, uint8_t *out, int64_t height, int64_t width,
                        pfd_error *err);
#endif
