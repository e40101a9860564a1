/* AutoContrast: each channel from 0 to 255. */
#include "images/ops/each_image.h"
#include "pyflowdata/op.h"

PFD_COLOUR_COMPUTE(pfd_probability_attrs, pfd_autocontrast(in, out))

const pfd_op pfd_op_auto_contrast = {
    PFD_COLOUR_OP,
    .name = "AutoContrast",
    .doc = "Stretches each channel so that its darkest number becomes 0 and its brightest 255. "
           "This equals Pillow's ImageOps.autocontrast; with a probability it is torchvision's "
           "RandomAutocontrast.",
    PFD_OP_ATTRS(pfd_probability_attrs, pfd_probability_table),
};
