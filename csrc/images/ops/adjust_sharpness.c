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
    .doc = "Blends each image with its smoothed one: smooth + factor * (image - smooth). This "
           "equals Pillow's ImageEnhance.Sharpness, with its kernel of 3 x 3 pixels; with a "
           "probability it is torchvision's RandomAdjustSharpness. The arithmetic is float32; the "
           "result is clipped, and its fraction is cut off.",
    PFD_OP_ATTRS(adjust_sharpness_attrs, attr_table),
};
