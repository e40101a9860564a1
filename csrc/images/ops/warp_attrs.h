/* images/ops/warp_attrs.h -- the attrs of ops that rotate, move, scale or shear images. */
#ifndef PFD_IMAGE_OPS_WARP_ATTRS_H
#define PFD_IMAGE_OPS_WARP_ATTRS_H
#include "images/pixels/image_attrs.h"

/* The first member of an op's attrs. */
typedef struct pfd_warp_attrs {
    int32_t interpolation; /* 1: bilinear */
    pfd_list_float64 fill;
} pfd_warp_attrs;

#define PFD_WARP_ATTRS(default_interpolation)                                                      \
    PFD_CHOICE_ATTR(pfd_warp_attrs, interpolation, default_interpolation, "nearest|bilinear",      \
                    "'nearest' takes the pixel that a place is in, 'bilinear' the mean of the "    \
                    "four nearest ones by distance; both as Pillow, whose bilinear numbers are "   \
                    "cut off where these are rounded. torchvision's default is 'nearest'."),       \
        PFD_FLOATS_ATTR(pfd_warp_attrs, fill, "0", 0, 255,                                         \
                        "The colour of pixels that lie outside the image: one number, or one "     \
                        "for each channel.")

/* The attrs, checked. */
typedef struct pfd_warp_style {
    int32_t bilinear;
    uint8_t fill[PFD_MAX_CHANNELS];
} pfd_warp_style;

/* Fails for colours that the images, of uint8, cannot have. */
pfd_status pfd_take_warp_style(const pfd_host *host, const pfd_warp_attrs *attrs,
                               const pfd_row_type *images, pfd_warp_style *out, pfd_error *err);
#endif
