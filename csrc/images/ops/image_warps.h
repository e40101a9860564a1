/* images/ops/image_warps.h -- what ops that rotate, move, scale or shear images share. */
#ifndef PFD_IMAGES_OPS_IMAGE_WARPS_H
#define PFD_IMAGES_OPS_IMAGE_WARPS_H
#include "images/pixels/image_rows.h"

/* ---- Attrs ----------------------------------------------------------------------------------- */

/* The first member of an op's attrs. */
typedef struct pfd_warp_attrs {
    int32_t interpolation; /* 1: bilinear */
    pfd_list_float64 fill;
} pfd_warp_attrs;

#define PFD_WARP_ATTRS(default_interpolation)                                                      \
    PFD_CHOICE_ATTR(pfd_warp_attrs, interpolation, default_interpolation, "nearest|bilinear",      \
                    "'nearest' takes the pixel that contains a place, 'bilinear' the mean of the " \
                    "four nearest pixels, weighted by distance. Both are Pillow's, except that "   \
                    "bilinear numbers are rounded here, and cut off in Pillow. torchvision's "     \
                    "default is 'nearest'."),                                                      \
        PFD_FLOATS_ATTR(pfd_warp_attrs, fill, "0", 0, 255,                                         \
                        "The colour of pixels that lie outside the image: one number, or one "     \
                        "for each channel.")

/* The attrs, checked. */
typedef struct pfd_warp_style {
    int32_t bilinear;
    uint8_t fill[PFD_MAX_CHANNELS];
} pfd_warp_style;

/* Checks the attrs. Fails for colours that images of uint8 cannot have. */
pfd_status pfd_take_warp_style(const pfd_host *host, const pfd_warp_attrs *attrs,
                               const pfd_row_type *images, pfd_warp_style *out, pfd_error *err);

/* ---- Rotation -------------------------------------------------------------------------------- */

/* Takes a range of degrees from a list of two numbers, or of one number n, which means (-n, n).
 * Fails for other lists. */
pfd_status pfd_take_degrees(const pfd_host *host, const char *attr, pfd_list_float64 list,
                            double out[2], pfd_error *err);

#define PFD_EXPAND_ATTR(owner)                                                                     \
    PFD_BOOL_ATTR(owner, expand, "false",                                                          \
                  "Whether the output is ragged, and large enough for the complete rotated "       \
                  "image; otherwise it has the size of the input, and corners are cut off.")

/* infer() of an op that rotates the images of its input. */
pfd_status pfd_infer_rotated(const pfd_infer_args *args, const pfd_warp_attrs *attrs,
                             int32_t expand, pfd_error *err);

extern const pfd_port pfd_rotated_out[1];

/* Writes output row i: row i of input 0, rotated around its middle, counter-clockwise. `expand`:
 * the output holds the whole rotated image, with Pillow's size; else it has the input's size. */
pfd_status pfd_rotate_image(const pfd_compute_args *args, int64_t i, double degrees,
                            int32_t expand, const pfd_warp_style *style, pfd_error *err);
#endif
