/* images/pixels/image_rows.h -- rows of a blob that are images.
 *
 * An image is a row of shape (height, width, channels), C-contiguous, the channels of a pixel next
 * to each other; or (height, width), which has one channel.  Height and width come in this order
 * everywhere: in shapes, attrs and messages.  They may vary from row to row; channels never do.
 */
#ifndef PFD_IMAGES_PIXELS_IMAGE_ROWS_H
#define PFD_IMAGES_PIXELS_IMAGE_ROWS_H
#include "pyflowdata/op.h"

enum { PFD_MAX_CHANNELS = 4, PFD_MOST_PIXEL_BYTES = PFD_MAX_CHANNELS * 8 };

typedef struct pfd_image {
    const uint8_t *data; /* elements of the tensor's dtype, borrowed */
    int64_t height, width, channels;
} pfd_image;

/* A region of an image, in pixels. */
typedef struct pfd_window {
    int64_t top, left, height, width;
} pfd_window;

/* Pixels of uint8: an image, or a region of it. */
typedef struct pfd_image_region {
    const uint8_t *data;
    int64_t height, width, channels; /* >= 1; 1 to 4 channels */
    int64_t stride;                  /* bytes from one row to the next */
} pfd_image_region;

/* Ports `in` of images of any dtype, of uint8, and of uint8 with 1 or 3 channels; and a port `out`
 * of images of the type of the input. */
extern const pfd_port pfd_any_images[1], pfd_byte_images[1], pfd_colour_images[1];
extern const pfd_port pfd_same_images[1];

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

/* ---- Checks of ops that change the size of images -------------------------------------------- */

enum { PFD_MOST_SIDE = 65535 }; /* the longest side of an image that an op makes */

/* The attr `size`, (height, width). */
#define PFD_SIZE_ATTR(owner, field, default_value, doc)                                            \
    PFD_INTS_ATTR(owner, field, default_value, 1, PFD_MOST_SIDE, doc)

typedef struct pfd_size {
    int64_t height, width;
} pfd_size;

/* Fails unless the list has two numbers. */
pfd_status pfd_take_size(const pfd_host *host, const char *attr, pfd_list_int64 list,
                         pfd_size *out, pfd_error *err);

enum {
    PFD_ALL_DTYPES = (2 << PFD_BFLOAT16) - (1 << PFD_BOOL) /* for pfd_expect_images() */
};

/* Makes a pixel of the type's dtype from the attr `fill`, one number or one for each channel. Fails
 * if the dtype cannot hold a number. */
pfd_status pfd_take_fill(const pfd_host *host, const char *attr, pfd_list_float64 list,
                         const pfd_row_type *images, uint8_t out[PFD_MOST_PIXEL_BYTES],
                         pfd_error *err);

/* Bytes of a pixel. */
int64_t pfd_pixel_bytes(const pfd_row_type *images);

/* Gets the whole image of a row. An image without pixels is an error of its row:
 * PFD_CORRUPT_DATA. */
pfd_status pfd_image_with_pixels(const pfd_compute_args *args, int32_t input, int64_t i,
                                 pfd_image *out, pfd_error *err);

/* Fails with PFD_CORRUPT_DATA unless both sides of an op's output image are at most
 * PFD_MOST_SIDE. */
pfd_status pfd_check_size(const pfd_compute_args *args, int64_t i, const pfd_size *size,
                          pfd_error *err);

/* All of an image of uint8. */
pfd_image_region pfd_whole_image(const pfd_image *image);

/* ---- Images whose channels come first (CHW) or last (HWC) ------------------------------------ */

/* The attr `layout`. */
enum { PFD_CHW, PFD_HWC };
#define PFD_LAYOUT_ATTR(owner)                                                                     \
    PFD_CHOICE_ATTR(owner, layout, "CHW", "CHW|HWC",                                               \
                    "Whether images are (channels, height, width), as of Normalize, or "           \
                    "(height, width, channels), as of decoders.")

/* An image's size, and the distances between its elements, in elements. */
typedef struct pfd_image_grid {
    int64_t channels, height, width;
    int64_t channel_step, row_step, pixel_step;
} pfd_image_grid;

/* `shape` has three dimensions. */
pfd_image_grid pfd_image_grid_of(int32_t layout, const int64_t *shape);

/* For infer(): fails unless the rows of an input are images of this layout. Ragged images have a
 * fixed number of channels. */
pfd_status pfd_expect_layout(const pfd_infer_args *args, int32_t input, const char *name,
                             int32_t layout, pfd_error *err);
#endif
