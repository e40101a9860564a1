/* images/ops/augmentations.h -- the changes that RandAugment and TrivialAugment choose from, and
 * their strengths: torchvision's tables.
 *
 * affine_warp.h makes rotations, shears and translations; the other changes are Pillow's.
 */
#ifndef PFD_IMAGES_OPS_AUGMENTATIONS_H
#define PFD_IMAGES_OPS_AUGMENTATIONS_H
#include "images/ops/image_warps.h"
#include "images/pixels/image_rows.h"

/* The changes, in torchvision's order. Images have 1 or 3 channels. */
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

/* How strong a change is: `bin` of `bins`, 0 the weakest, in the table of RandAugment or, if
 * `wide`, of TrivialAugment. `negative` 1: the other direction, for changes that have two. */
typedef struct pfd_strength {
    int64_t bin, bins;
    int32_t wide, negative;
} pfd_strength;

/* Makes `out` from `in`, which is other memory. */
void pfd_augment(const pfd_image *in, int32_t change, const pfd_strength *strength,
                 const pfd_warp_style *style, uint8_t *out);
#endif
