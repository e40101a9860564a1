/* Changes of RandAugment and TrivialAugment. */
#include "images/ops/augmentations.h"

#include "images/pixels/affine_warp.h"
#include "images/pixels/colours.h"

#include <math.h>
#include <string.h>

/* The largest amounts of a change: narrow in RandAugment, wide in TrivialAugment; 0 for a change
 * without strengths. */
typedef struct range {
    double narrow, wide;
} range;
static const range strongest[PFD_AUGMENTATIONS] = {
    [PFD_SHEAR_X] = {0.3, 0.99},    [PFD_SHEAR_Y] = {0.3, 0.99},
    [PFD_TRANSLATE_X] = {150, 32},  [PFD_TRANSLATE_Y] = {150, 32},
    [PFD_ROTATE] = {30, 135},       [PFD_BRIGHTNESS] = {0.9, 0.99},
    [PFD_COLOR] = {0.9, 0.99},      [PFD_CONTRAST] = {0.9, 0.99},
    [PFD_SHARPNESS] = {0.9, 0.99},  [PFD_POSTERIZE] = {4, 6},
    [PFD_SOLARIZE] = {255, 255},
};

static double amount_of(int32_t change, const pfd_strength *at)
{
    double most = at->wide ? strongest[change].wide : strongest[change].narrow;
    double amount = most * (double)at->bin / (double)(at->bins - 1);
    if (change == PFD_POSTERIZE) return 8 - rint(amount);
    if (change == PFD_SOLARIZE) return 255 - amount;
    return at->negative ? -amount : amount;
}

/* A distance in whole pixels. RandAugment moves an image of 331 pixels, the side in torchvision's
 * table, by up to 150. */
static double pixels_of(int32_t change, const pfd_strength *at, int64_t side)
{
    if (at->wide) return trunc(amount_of(change, at));
    double most = strongest[change].narrow;
    double pixels = trunc(most * (double)(at->bin * side) / (331.0 * (double)(at->bins - 1)));
    return at->negative ? -pixels : pixels;
}

/* The places that the pixels of a warped image come from. */
static pfd_affine places_of(const pfd_image *in, int32_t change, const pfd_strength *strength)
{
    pfd_affine out = {.xx = 1, .yy = 1};
    pfd_affine_motion motion = {.angle = -amount_of(PFD_ROTATE, strength),
                                .scale = 1,
                                .centre_x = (double)in->width / 2,
                                .centre_y = (double)in->height / 2};
    switch (change) {
    case PFD_SHEAR_X: out.xy = amount_of(change, strength); break;
    case PFD_SHEAR_Y: out.yx = amount_of(change, strength); break;
    case PFD_TRANSLATE_X: out.x0 = -pixels_of(change, strength, in->width); break;
    case PFD_TRANSLATE_Y: out.y0 = -pixels_of(change, strength, in->height); break;
    default: out = pfd_affine_of(&motion);
    }
    return out;
}

static void warp(const pfd_image *in, int32_t change, const pfd_strength *strength,
                 const pfd_warp_style *style, uint8_t *out)
{
    pfd_image_region all = {in->data, in->height, in->width, in->channels,
                            in->width * in->channels};
    pfd_affine places = places_of(in, change, strength);
    pfd_affine_warp(&all, &places, style->bilinear, style->fill, out, in->height, in->width);
}

void pfd_augment(const pfd_image *in, int32_t change, const pfd_strength *strength,
                 const pfd_warp_style *style, uint8_t *out)
{
    double amount = amount_of(change, strength);
    float factor = (float)(1 + amount);
    switch (change) {
    case PFD_IDENTITY:
        memcpy(out, in->data, (size_t)(in->height * in->width * in->channels));
        break;
    case PFD_BRIGHTNESS: pfd_adjust_brightness(in, factor, out); break;
    case PFD_COLOR: pfd_adjust_saturation(in, factor, out); break;
    case PFD_CONTRAST: pfd_adjust_contrast(in, factor, out); break;
    case PFD_SHARPNESS: pfd_adjust_sharpness(in, factor, out); break;
    case PFD_POSTERIZE: pfd_posterize(in, (int64_t)amount, out); break;
    case PFD_SOLARIZE: pfd_solarize(in, amount, out); break;
    case PFD_AUTO_CONTRAST: pfd_autocontrast(in, out); break;
    case PFD_EQUALIZE: pfd_equalize(in, out); break;
    default: warp(in, change, strength, style, out);
    }
}
