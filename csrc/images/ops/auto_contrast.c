/* AutoContrast: each channel from 0 to 255. */
#include "images/pixels/each_image.h"
#include "images/pixels/pixel_tables.h"
#include "pyflowdata/op.h"

typedef struct auto_contrast_attrs {
    double probability;
} auto_contrast_attrs;

static pfd_status change(const pfd_compute_args *args, int64_t row, const pfd_image *in,
                         uint8_t *out, pfd_room *room, pfd_error *err)
{
    (void)args, (void)row, (void)room, (void)err;
    pfd_autocontrast(in, out);
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const auto_contrast_attrs *attrs = args->attrs;
    return pfd_each_image(args, attrs->probability, change, err);
}

static const pfd_attr attr_table[] = {
    PFD_PROBABILITY_ATTR(auto_contrast_attrs),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 (height, width, channels) with 1 or 3 channels, also ragged."},
};

static const pfd_port outputs[] = {{"out", "Images of the type of the input."}};

const pfd_op pfd_op_auto_contrast = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "AutoContrast",
    .doc = "Stretches each channel so that its darkest number becomes 0 and its brightest 255. "
           "As ImageOps.autocontrast of Pillow; with probability it is torchvision's "
           "RandomAutocontrast.",
    PFD_OP_ATTRS(auto_contrast_attrs, attr_table),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = pfd_infer_same_colours,
    .compute = compute,
};
