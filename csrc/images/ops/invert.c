/* Invert: 255 - x. */
#include "images/ops/each_image.h"
#include "pyflowdata/op.h"

PFD_COLOUR_COMPUTE(pfd_probability_attrs, pfd_invert(in, out))

const pfd_op pfd_op_invert = {
    PFD_COLOUR_OP,
    .name = "Invert",
    .doc = "Replaces each number x by 255 - x. This equals Pillow's ImageOps.invert; with a "
           "probability it is torchvision's RandomInvert.",
    PFD_OP_ATTRS(pfd_probability_attrs, pfd_probability_table),
};
