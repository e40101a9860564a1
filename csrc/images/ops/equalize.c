/* Equalize: histograms made flat. */
#include "images/ops/each_image.h"
#include "pyflowdata/op.h"

typedef struct equalize_attrs {
    double probability;
} equalize_attrs;

PFD_COLOUR_COMPUTE(equalize_attrs, pfd_equalize(in, out))

static const pfd_attr attr_table[] = {
    PFD_PROBABILITY_ATTR(equalize_attrs),
};

const pfd_op pfd_op_equalize = {
    PFD_COLOUR_OP,
    .name = "Equalize",
    .doc = "Makes each value of a channel about as frequent as the others. "
           "As ImageOps.equalize of Pillow; with probability it is torchvision's RandomEqualize.",
    PFD_OP_ATTRS(equalize_attrs, attr_table),
};
