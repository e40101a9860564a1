/* images/ops/crops.h -- windows of an op's input images, in pixels or in files, and padding.
 *
 * A file is decoded no further than a window needs. An op that takes windows is written once: it
 * works alone, and fused with the decoder before it (core/fusion.h), with the same pixels.
 */
#ifndef PFD_IMAGES_OPS_CROPS_H
#define PFD_IMAGES_OPS_CROPS_H
#include "core/fusion.h"
#include "images/codecs/image_codec.h"
#include "images/pixels/image_rows.h"
#include "images/pixels/image_window.h"
#include "pyflowdata/op.h"

/* ---- Padding --------------------------------------------------------------------------------- */

#define PFD_PADDING_ATTR(owner, field, default_value, doc)                                         \
    PFD_INTS_ATTR(owner, field, default_value, 0, 65535,                                           \
                  doc ": one number for all sides, two for (top and bottom, left and right), or "  \
                      "four for (top, left, bottom, right). torchvision's order of four is "       \
                      "(left, top, right, bottom).")

/* Pixels on each side. */
typedef struct pfd_padding {
    int64_t top, left, bottom, right;
} pfd_padding;

/* Fails unless the list has 0 numbers, which means no padding, or 1, 2 or 4. */
pfd_status pfd_take_padding(const pfd_host *host, const char *attr, pfd_list_int64 list,
                            pfd_padding *out, pfd_error *err);

/* ---- Windows --------------------------------------------------------------------------------- */

/* A row's image: its pixels, or a file that is not decoded yet. */
typedef struct pfd_input_image {
    int64_t height, width;
    const pfd_producer *decoder; /* the op that decodes the file; NULL: the row has pixels */
    pfd_image pixels;
    int64_t pixel_bytes;
    pfd_image_file file;
    pfd_image_header header;
} pfd_input_image;

/* Opens row i's image in input 0. `decoder` is the op that decodes the rows to uint8, whose attrs
 * begin with pfd_decode_options; NULL: the rows are pixels. An image without pixels is an error of
 * its row, as in pfd_image_with_pixels(). */
pfd_status pfd_open_image(const pfd_compute_args *args, const pfd_producer *decoder, int64_t i,
                          pfd_input_image *out, pfd_error *err);

/* Takes the region of an image of uint8 in a window, which is not empty and lies in the image.
 * Decoded pixels are in the call's scratch. */
pfd_status pfd_take_window(const pfd_input_image *image, const pfd_window *window,
                           pfd_image_region *out, pfd_error *err);

/* Writes a window to `out`, as pfd_copy_window() does. */
pfd_status pfd_write_window(const pfd_input_image *image, const pfd_window *window,
                            const pfd_border *border, uint8_t *out, pfd_error *err);

/* Defines compute() of the op `name` for pixels, and its form for files, fused with a decoder.
 * Both call crop(args, decoder, err), which opens images with pfd_open_image(). */
#define PFD_CROP_COMPUTE(name)                                                                     \
    static pfd_status compute(const pfd_compute_args *args, pfd_error *err)                        \
    {                                                                                              \
        return crop(args, NULL, err);                                                              \
    }                                                                                              \
                                                                                                   \
    pfd_status pfd_fused_##name(const pfd_compute_args *args, const pfd_producer *decoder,         \
                                pfd_error *err)                                                    \
    {                                                                                              \
        return crop(args, decoder, err);                                                           \
    }
#endif
