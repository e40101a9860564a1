/* Invert: 255 - x. */
#include "images/ops/each_image.h"
#include "pyflowdata/op.h"

typedef struct invert_attrs {
    double probability;
} invert_attrs;

PFD_COLOUR_COMPUTE(invert_attrs, pfd_invert(in, out))

static const pfd_attr attr_table[] = {
    PFD_PROBABILITY_ATTR(invert_attrs),
};

const pfd_op pfd_op_invert = {
    PFD_COLOUR_OP,
    .name = "Invert",
    .doc = "Replaces each number x by 255 - x. "
           "As ImageOps.invert of Pillow; with probability it is torchvision's RandomInvert.",
    PFD_OP_ATTRS(invert_attrs, attr_table),
};
