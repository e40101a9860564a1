/* Posterize: few bits for each channel. */
#include "images/ops/each_image.h"
#include "pyflowdata/op.h"

typedef struct posterize_attrs {
    int64_t bits;
    double probability;
} posterize_attrs;

PFD_COLOUR_COMPUTE(posterize_attrs, pfd_posterize(in, attrs->bits, out))

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(posterize_attrs, bits, NULL, 0, 8,
                 "How many of the highest bits of each number are kept; the others become 0."),
    PFD_PROBABILITY_ATTR(posterize_attrs),
};

const pfd_op pfd_op_posterize = {
    PFD_COLOUR_OP,
    .name = "Posterize",
    .doc = "Keeps the highest bits of each number. This equals Pillow's ImageOps.posterize; with a "
           "probability it is torchvision's RandomPosterize.",
    PFD_OP_ATTRS(posterize_attrs, attr_table),
};
