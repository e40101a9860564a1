/* Posterize: few bits for each channel. */
#include "images/pixels/each_image.h"
#include "images/pixels/pixel_tables.h"
#include "pyflowdata/op.h"

typedef struct posterize_attrs {
    int64_t bits;
    double probability;
} posterize_attrs;

static pfd_status change(const pfd_compute_args *args, int64_t row, const pfd_image *in,
                         uint8_t *out, pfd_room *room, pfd_error *err)
{
    const posterize_attrs *attrs = args->attrs;
    (void)row, (void)room, (void)err;
    pfd_posterize(in, attrs->bits, out);
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const posterize_attrs *attrs = args->attrs;
    return pfd_each_image(args, attrs->probability, change, err);
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(posterize_attrs, bits, NULL, 0, 8,
                 "How many of the highest bits of each number are kept; the others become 0."),
    PFD_PROBABILITY_ATTR(posterize_attrs),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 (height, width, channels) with 1 or 3 channels, also ragged."},
};

static const pfd_port outputs[] = {{"out", "Images of the type of the input."}};

const pfd_op pfd_op_posterize = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "Posterize",
    .doc = "Keeps the highest bits of each number. "
           "As ImageOps.posterize of Pillow; with probability it is torchvision's RandomPosterize.",
    PFD_OP_ATTRS(posterize_attrs, attr_table),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = pfd_infer_same_colours,
    .compute = compute,
};
