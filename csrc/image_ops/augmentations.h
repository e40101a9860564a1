/* image_ops/augmentations.h -- the changes that RandAugment and TrivialAugment choose from, and how
 * strong they are: torchvision's tables.
 *
 * Rotation, shears and translations are those of affine_warp.h, the others Pillow's.
 */
#ifndef PFD_IMAGE_OPS_AUGMENTATIONS_H
#define PFD_IMAGE_OPS_AUGMENTATIONS_H
#include "images/each_image.h"

/* In torchvision's order.  Images have 1 or 3 channels. */
enum {
    PFD_IDENTITY,
    PFD_SHEAR_X,
    PFD_SHEAR_Y,
    PFD_TRANSLATE_X,
    PFD_TRANSLATE_Y,
    PFD_ROTATE,
    PFD_BRIGHTNESS,
    PFD_COLOR,
    PFD_CONTRAST,
    PFD_SHARPNESS,
    PFD_POSTERIZE,
    PFD_SOLARIZE,
    PFD_AUTO_CONTRAST,
    PFD_EQUALIZE,
    PFD_AUGMENTATIONS,
};

/* Which pixels the warps take, and the colour of those outside. */
typedef struct pfd_warp_style {
    int32_t bilinear;
    uint8_t fill[4];
} pfd_warp_style;

/* How strong a change is: `bin` of `bins`, 0 the weakest (but of Posterize and Solarize), in the
 * table of RandAugment or, wide, of TrivialAugment.  `negative` 1: in the other direction, for
 * changes that have one. */
typedef struct pfd_strength {
    int64_t bin, bins;
    int32_t wide, negative;
} pfd_strength;

/* Makes `out` from `in`, which is other memory. */
void pfd_augment(const pfd_image *in, int32_t change, const pfd_strength *strength,
                 const pfd_warp_style *style, uint8_t *out);

/* The attrs `interpolation` (nearest, bilinear) and `fill`, which are PFD_WARP_ATTRS.  Fails for
 * colours that the images cannot have. */
pfd_status pfd_take_warp_style(const pfd_host *host, int32_t interpolation, pfd_list_float64 fill,
                               const pfd_row_type *images, pfd_warp_style *out, pfd_error *err);

#define PFD_WARP_ATTRS(owner)                                                                      \
    PFD_CHOICE_ATTR(owner, interpolation, "nearest", "nearest|bilinear",                           \
                    "How rotated, sheared and moved pixels are resampled."),                       \
        PFD_FLOATS_ATTR(owner, fill, "0", 0, 0,                                                    \
                        "The colour where a moved image leaves a place empty: one number, or one " \
                        "for each channel.")
#endif
