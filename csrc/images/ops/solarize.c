/* Solarize: bright numbers inverted. */
#include "images/ops/each_image.h"
#include "pyflowdata/op.h"

typedef struct solarize_attrs {
    double threshold;
    double probability;
} solarize_attrs;

PFD_COLOUR_COMPUTE(solarize_attrs, pfd_solarize(in, attrs->threshold, out))

static const pfd_attr attr_table[] = {
    PFD_FLOAT_ATTR(solarize_attrs, threshold, "128", 0, 256,
                   "Numbers that are equal to the threshold or above it are inverted."),
    PFD_PROBABILITY_ATTR(solarize_attrs),
};

const pfd_op pfd_op_solarize = {
    PFD_COLOUR_OP,
    .name = "Solarize",
    .doc = "Replaces each number x that is not below the threshold by 255 - x. This equals "
           "Pillow's ImageOps.solarize; with a probability it is torchvision's RandomSolarize.",
    PFD_OP_ATTRS(solarize_attrs, attr_table),
};
