/* images/image_windows.h -- windows of images, which are pixels or still files: of a file no more is
 * decoded than the window needs.  An op that takes windows is written once, and works alone and fused
 * with the decoder before it (core/fusion.h); the pixels are the same.
 */
#ifndef PFD_IMAGES_IMAGE_WINDOWS_H
#define PFD_IMAGES_IMAGE_WINDOWS_H
#include "core/fusion.h"
#include "images/image_attrs.h"

/* A window of an image of this size, which has pixels; not empty, and in the image. */
typedef pfd_window (*pfd_choose_window)(const pfd_compute_args *args, int64_t row,
                                        const void *rule, int64_t height, int64_t width);

/* The window of row i's image in input 0, uint8.  `decoder` is NULL where the rows are pixels, else
 * the op that decodes them, whose attrs begin with pfd_decode_options; the pixels are then in the
 * scratch.  An image without pixels is an error of its row, as in pfd_image_with_pixels(). */
pfd_status pfd_take_window(const pfd_compute_args *args, const pfd_producer *decoder, int64_t i,
                           pfd_choose_window choose, const void *rule, pfd_image_part *out,
                           pfd_error *err);
#endif
