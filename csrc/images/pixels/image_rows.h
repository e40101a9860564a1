/* images/pixels/image_rows.h -- rows of a blob that are images.
 *
 * An image is a row of shape (height, width, channels), C-contiguous, the channels of a pixel next
 * to each other; or (height, width), which has one channel.  Height and width come in this order
 * everywhere: in shapes, attrs and messages.  They may vary from row to row; channels never do.
 */
#ifndef PFD_IMAGES_IMAGE_ROWS_H
#define PFD_IMAGES_IMAGE_ROWS_H
#include "pyflowdata/op.h"

enum { PFD_MAX_CHANNELS = 4 };

typedef struct pfd_image {
    const uint8_t *data; /* elements of the tensor's dtype, borrowed */
    int64_t height, width, channels;
} pfd_image;

/* Fails unless the rows of an input are images of 1 to 4 channels and of one of the dtypes, a sum
 * of 1 << PFD_UINT8 and so on. */
pfd_status pfd_expect_images(const pfd_infer_args *args, int32_t input, const char *name,
                             uint32_t dtypes, pfd_error *err);

/* The type of images like those of `in`, with another size; -1: it varies from row to row. */
pfd_row_type pfd_image_type(const pfd_row_type *in, int64_t height, int64_t width);

int64_t pfd_image_channels(const pfd_row_type *type);

/* Row i of a tensor of images. An empty ragged row has no pixels: height and width are 0. */
pfd_image pfd_image_at(const pfd_tensor *tensor, int64_t i);

/* The memory for image i of an output; NULL: out of memory, and *err says so. */
void *pfd_image_to_write(const pfd_compute_args *args, int32_t output, int64_t i, int64_t height,
                         int64_t width, pfd_error *err);

/* Points ragged row i of an output at row i of an input of the same dtype and channels, without a
 * copy; copies where the output is dense.  Both have the same size. */
pfd_status pfd_image_pass(const pfd_compute_args *args, int32_t input, int32_t output, int64_t i,
                          pfd_error *err);
#endif
