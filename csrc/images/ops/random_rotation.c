/* RandomRotation: images turned by random angles. */
#include "core/op_shorthand.h"
#include "images/ops/image_warps.h"
#include "images/pixels/random_draws.h"

enum { DRAW_ANGLE };

typedef struct random_rotation_attrs {
    pfd_warp_attrs warp;
    pfd_list_float64 degrees;
    int32_t expand;
} random_rotation_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const random_rotation_attrs *attrs = args->attrs;
    double degrees[2];
    PFD_TRY(pfd_infer_rotated(args, &attrs->warp, attrs->expand, err));
    return pfd_take_degrees(args->host, "degrees", attrs->degrees, degrees, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const random_rotation_attrs *attrs = args->attrs;
    pfd_warp_style style;
    double degrees[2];
    PFD_TRY(pfd_take_degrees(args->host, "degrees", attrs->degrees, degrees, err));
    PFD_TRY(pfd_take_warp_style(args->host, &attrs->warp, &args->inputs[0]->type, &style, err));
    for (int64_t i = 0; i < args->num_rows; i++) {
        double angle = pfd_uniform_between(args, i, DRAW_ANGLE, degrees[0], degrees[1]);
        PFD_TRY(pfd_rotate_image(args, i, angle, attrs->expand, &style, err));
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOATS_ATTR(random_rotation_attrs, degrees, NULL, -36000, 36000,
                    "Range of the angle, [min, max], counter-clockwise; one number n means "
                    "[-n, n]."),
    PFD_EXPAND_ATTR(random_rotation_attrs),
    PFD_WARP_ATTRS("bilinear"),
};

const pfd_op pfd_op_random_rotation = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_byte_images, pfd_rotated_out),
    .name = "RandomRotation",
    .doc = "Rotates each image around its middle by a random angle. "
           "Angles turn counter-clockwise, as in Pillow and in torchvision's RandomRotation; those "
           "of RandomAffine turn clockwise. The angle is drawn uniformly; it depends on "
           "seed, epoch, record and the name of the node.",
    PFD_OP_ATTRS(random_rotation_attrs, attr_table),
};
