/* images/pixels/image_attrs.h -- what ops that change the size of images check in the same way. */
#ifndef PFD_IMAGES_IMAGE_ATTRS_H
#define PFD_IMAGES_IMAGE_ATTRS_H
#include "images/pixels/random_window.h"
#include "images/pixels/image_rows.h"
#include "images/pixels/resample.h"
#include "images/pixels/window_copy.h"

enum { PFD_MOST_SIDE = 65535 }; /* of an image that an op makes */

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

/* The attr `fill`, one number or one for each channel, as a pixel of the type's dtype.  Fails
 * unless it can be held. */
pfd_status pfd_take_fill(const pfd_host *host, const char *attr, pfd_list_float64 list,
                         const pfd_row_type *images, uint8_t out[PFD_MOST_PIXEL_BYTES],
                         pfd_error *err);

/* Bytes of a pixel. */
int64_t pfd_pixel_bytes(const pfd_row_type *images);

/* The image of a row, all of it.  One without pixels is an error of its row: PFD_CORRUPT_DATA. */
pfd_status pfd_image_with_pixels(const pfd_compute_args *args, int32_t input, int64_t i,
                                 pfd_image *out, pfd_error *err);

/* Fails unless both sides of what an op makes of a row's image are at most PFD_MOST_SIDE:
 * PFD_CORRUPT_DATA. */
pfd_status pfd_check_size(const pfd_compute_args *args, int64_t i, const pfd_size *size,
                          pfd_error *err);

/* Of images of uint8: all of one, and what is in a window. */
pfd_image_part pfd_whole_image(const pfd_image *image);
pfd_image_part pfd_image_window(const pfd_image *image, const pfd_window *window);
#endif
