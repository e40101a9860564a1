/* Rotate: images turned by one angle. */
#include "core/op_shorthand.h"
#include "images/ops/image_warps.h"

typedef struct rotate_attrs {
    pfd_warp_attrs warp;
    double degrees;
    int32_t expand;
} rotate_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const rotate_attrs *attrs = args->attrs;
    return pfd_infer_rotated(args, &attrs->warp, attrs->expand, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const rotate_attrs *attrs = args->attrs;
    pfd_warp_style style;
    PFD_TRY(pfd_take_warp_style(args->host, &attrs->warp, &args->inputs[0]->type, &style, err));
    for (int64_t i = 0; i < args->num_rows; i++)
        PFD_TRY(pfd_rotate_image(args, i, attrs->degrees, attrs->expand, &style, err));
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOAT_ATTR(rotate_attrs, degrees, NULL, -36000, 36000, "The angle, counter-clockwise."),
    PFD_EXPAND_ATTR(rotate_attrs),
    PFD_WARP_ATTRS("bilinear"),
};

const pfd_op pfd_op_rotate = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_byte_images, pfd_rotated_out),
    .name = "Rotate",
    .doc = "Rotates images around their middle, counter-clockwise. "
           "This is Pillow's and torchvision's rotate(). RandomAffine turns clockwise.",
    PFD_OP_ATTRS(rotate_attrs, attr_table),
};
