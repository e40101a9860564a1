/* Rotate: images turned by one angle. */
#include "images/ops/image_rotation.h"
#include "pyflowdata/op.h"

typedef struct rotate_attrs {
    pfd_warp_attrs warp;
    double degrees;
    int32_t expand;
} rotate_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const rotate_attrs *attrs = args->attrs;
    pfd_warp_style style;
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    PFD_TRY(pfd_take_warp_style(args->host, &attrs->warp, &args->inputs[0], &style, err));
    args->outputs[0] = pfd_rotated_type(&args->inputs[0], attrs->expand);
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const rotate_attrs *attrs = args->attrs;
    pfd_warp_style style;
    PFD_TRY(pfd_take_warp_style(args->host, &attrs->warp, &args->inputs[0]->type, &style,
                                err));
    for (int64_t i = 0; i < args->num_rows; i++)
        PFD_TRY(pfd_rotate_image(args, i, attrs->degrees, attrs->expand, &style, err));
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOAT_ATTR(rotate_attrs, degrees, NULL, -36000, 36000, "The angle, counter-clockwise."),
    PFD_BOOL_ATTR(rotate_attrs, expand, "false",
                  "Whether the output is as large as all of the rotated image needs, and ragged; "
                  "else it has the size of the input, and corners are cut off."),
    PFD_WARP_ATTRS("bilinear"),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 (height, width, channels) or (height, width), also ragged."},
};
static const pfd_port outputs[] = {
    {"out", "The rotated images, uint8."},
};

const pfd_op pfd_op_rotate = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "Rotate",
    .doc = "Rotates images around their middle, counter-clockwise. "
           "This is Pillow's and torchvision's rotate(). RandomAffine turns clockwise.",
    PFD_OP_ATTRS(rotate_attrs, attr_table),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};
