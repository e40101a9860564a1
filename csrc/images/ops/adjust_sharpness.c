/* AdjustSharpness: images blended with smoothed ones. */
#include "images/pixels/blend.h"
#include "images/pixels/each_image.h"
#include "pyflowdata/op.h"

typedef struct adjust_sharpness_attrs {
    double factor;
    double probability;
} adjust_sharpness_attrs;

static pfd_status change(const pfd_compute_args *args, int64_t row, const pfd_image *in,
                         uint8_t *out, pfd_room *room, pfd_error *err)
{
    const adjust_sharpness_attrs *attrs = args->attrs;
    (void)row, (void)room, (void)err;
    pfd_adjust_sharpness(in, (float)attrs->factor, out);
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const adjust_sharpness_attrs *attrs = args->attrs;
    return pfd_each_image(args, attrs->probability, change, err);
}

static const pfd_attr attr_table[] = {
    PFD_FLOAT_ATTR(adjust_sharpness_attrs, factor, NULL, 0, 1e6,
                   "0 gives the smoothed image, 1 the image itself, 2 a sharper one."),
    PFD_PROBABILITY_ATTR(adjust_sharpness_attrs),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 (height, width, channels) with 1 or 3 channels, also ragged."},
};

static const pfd_port outputs[] = {{"out", "Images of the type of the input."}};

const pfd_op pfd_op_adjust_sharpness = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "AdjustSharpness",
    .doc = "Blends each image with its smoothed one: smooth + factor * (image - smooth). "
           "As ImageEnhance.Sharpness of Pillow, with its kernel of 3 x 3 pixels; with probability "
           "it is torchvision's RandomAdjustSharpness. Arithmetic is that of float32; the result "
           "is clipped, and its fraction cut off.",
    PFD_OP_ATTRS(adjust_sharpness_attrs, attr_table),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = pfd_infer_same_colours,
    .compute = compute,
};
