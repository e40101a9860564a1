/* AdjustSharpness: images blended with smoothed copies. */
#include "images/ops/each_image.h"
#include "pyflowdata/op.h"

typedef struct adjust_sharpness_attrs {
    double factor;
    double probability;
} adjust_sharpness_attrs;

PFD_COLOUR_COMPUTE(adjust_sharpness_attrs, pfd_adjust_sharpness(in, (float)attrs->factor, out))

static const pfd_attr attr_table[] = {
    PFD_FLOAT_ATTR(adjust_sharpness_attrs, factor, NULL, 0, 1e6,
                   "0 gives the smoothed image, 1 the image itself, 2 a sharper one."),
    PFD_PROBABILITY_ATTR(adjust_sharpness_attrs),
};

const pfd_op pfd_op_adjust_sharpness = {
    PFD_COLOUR_OP,
    .name = "AdjustSharpness",
    .doc = "Blends each image with its smoothed one: smooth + factor * (image - smooth). "
           "As ImageEnhance.Sharpness of Pillow, with its kernel of 3 x 3 pixels; with probability "
           "it is torchvision's RandomAdjustSharpness. Arithmetic is that of float32; the result "
           "is clipped, and its fraction cut off.",
    PFD_OP_ATTRS(adjust_sharpness_attrs, attr_table),
};
