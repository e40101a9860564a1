/* Equalize: histograms made flat. */
#include "images/ops/each_image.h"
#include "pyflowdata/op.h"

PFD_COLOUR_COMPUTE(pfd_probability_attrs, pfd_equalize(in, out))

const pfd_op pfd_op_equalize = {
    PFD_COLOUR_OP,
    .name = "Equalize",
    .doc = "Makes each value of a channel about as frequent as the others. This equals Pillow's "
           "ImageOps.equalize; with a probability it is torchvision's RandomEqualize.",
    PFD_OP_ATTRS(pfd_probability_attrs, pfd_probability_table),
};
