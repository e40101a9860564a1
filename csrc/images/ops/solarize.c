/* Solarize: bright numbers inverted. */
#include "images/pixels/each_image.h"
#include "images/pixels/pixel_tables.h"
#include "pyflowdata/op.h"

typedef struct solarize_attrs {
    double threshold;
    double probability;
} solarize_attrs;

static pfd_status change(const pfd_compute_args *args, int64_t row, const pfd_image *in,
                         uint8_t *out, pfd_room *room, pfd_error *err)
{
    const solarize_attrs *attrs = args->attrs;
    (void)row, (void)room, (void)err;
    pfd_solarize(in, attrs->threshold, out);
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const solarize_attrs *attrs = args->attrs;
    return pfd_each_image(args, attrs->probability, change, err);
}

static const pfd_attr attr_table[] = {
    PFD_FLOAT_ATTR(solarize_attrs, threshold, "128", 0, 256,
                   "Numbers from this one on are inverted."),
    PFD_PROBABILITY_ATTR(solarize_attrs),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 (height, width, channels) with 1 or 3 channels, also ragged."},
};

static const pfd_port outputs[] = {{"out", "Images of the type of the input."}};

const pfd_op pfd_op_solarize = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "Solarize",
    .doc = "Replaces each number x that is not below the threshold by 255 - x. "
           "As ImageOps.solarize of Pillow; with probability it is torchvision's RandomSolarize.",
    PFD_OP_ATTRS(solarize_attrs, attr_table),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = pfd_infer_same_colours,
    .compute = compute,
};
