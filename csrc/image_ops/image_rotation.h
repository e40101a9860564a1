/* image_ops/image_rotation.h -- what ops that rotate images share: attrs, and the rotation of a
 * row. */
#ifndef PFD_IMAGE_OPS_IMAGE_ROTATION_H
#define PFD_IMAGE_OPS_IMAGE_ROTATION_H
#include "images/image_attrs.h"

/* The attr `interpolation` of warps: 1 is bilinear. */
#define PFD_WARP_INTERPOLATIONS "nearest|bilinear"
#define PFD_WARP_INTERPOLATION_DOC                                                                 \
    "'nearest' takes the pixel that a place is in, 'bilinear' the mean of the four nearest ones "  \
    "by distance; both as Pillow, whose bilinear numbers are cut off where these are rounded."
#define PFD_WARP_FILL_DOC                                                                          \
    "The colour where the image is not: one number, or one for each channel."

typedef struct pfd_warp_look {
    int32_t bilinear;
    uint8_t fill[PFD_MOST_PIXEL_BYTES];
} pfd_warp_look;

/* A range of degrees in a list of one number, which is (-n, n), or of two. Fails unless it is. */
pfd_status pfd_take_degrees(const pfd_host *host, const char *attr, pfd_list_float64 list,
                            double out[2], pfd_error *err);

/* The type of rotated images. */
pfd_row_type pfd_rotated_type(const pfd_row_type *in, int32_t expand);

/* Output row i: that of input 0 rotated around its middle, counter-clockwise.  `expand`: in the
 * size that holds all of it, as Pillow counts; else in its own. */
pfd_status pfd_rotate_image(const pfd_compute_args *args, int64_t i, double degrees,
                            int32_t expand, const pfd_warp_look *look, pfd_error *err);
#endif
