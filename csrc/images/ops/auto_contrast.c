/* AutoContrast: each channel from 0 to 255. */
#include "images/ops/each_image.h"
#include "pyflowdata/op.h"

typedef struct auto_contrast_attrs {
    double probability;
} auto_contrast_attrs;

PFD_COLOUR_COMPUTE(auto_contrast_attrs, pfd_autocontrast(in, out))

static const pfd_attr attr_table[] = {
    PFD_PROBABILITY_ATTR(auto_contrast_attrs),
};

const pfd_op pfd_op_auto_contrast = {
    PFD_COLOUR_OP,
    .name = "AutoContrast",
    .doc = "Stretches each channel so that its darkest number becomes 0 and its brightest 255. "
           "As ImageOps.autocontrast of Pillow; with probability it is torchvision's "
           "RandomAutocontrast.",
    PFD_OP_ATTRS(auto_contrast_attrs, attr_table),
};
