/* RandomAffine: images rotated, moved, scaled and sheared by chance. */
#include "core/op_shorthand.h"
#include "images/ops/image_warps.h"
#include "images/pixels/affine_warp.h"
#include "images/pixels/random_draws.h"

#include <inttypes.h>

enum { DRAW_ANGLE, DRAW_DOWN, DRAW_RIGHT, DRAW_SCALE, DRAW_SHEAR_X, DRAW_SHEAR_Y };

typedef struct random_affine_attrs {
    pfd_warp_attrs warp;
    pfd_list_float64 degrees, translate, scale, shear;
} random_affine_attrs;

/* The attrs, checked. */
typedef struct affine_plan {
    double degrees[2], translate[2], scale[2], shear_x[2], shear_y[2];
    pfd_warp_style style;
} affine_plan;

static pfd_status fail_count(const pfd_host *host, const char *attr, int64_t count,
                             const char *expected, pfd_error *err)
{
    return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                           " has %" PRId64 " numbers; it must be %s", count, expected);
}

static pfd_status take_shear(const pfd_host *host, pfd_list_float64 list, affine_plan *out,
                             pfd_error *err)
{
    if (list.size == 0) return PFD_OK;
    if (list.size == 3 || list.size > 4)
        return fail_count(host, "shear", list.size, "[n], [min, max] of x, or [min, max, min, "
                          "max] of x and y", err);
    if (list.size < 4) return pfd_take_degrees(host, "shear", list, out->shear_x, err);
    PFD_TRY(pfd_take_degrees(host, "shear", (pfd_list_float64){list.data, 2}, out->shear_x, err));
    return pfd_take_degrees(host, "shear", (pfd_list_float64){list.data + 2, 2}, out->shear_y,
                            err);
}

static pfd_status make_plan(const pfd_host *host, const random_affine_attrs *attrs,
                            const pfd_row_type *in, affine_plan *out, pfd_error *err)
{
    *out = (affine_plan){.scale = {1, 1}};
    PFD_TRY(pfd_take_degrees(host, "degrees", attrs->degrees, out->degrees, err));
    PFD_TRY(take_shear(host, attrs->shear, out, err));
    PFD_TRY(pfd_take_warp_style(host, &attrs->warp, in, &out->style, err));
    if (attrs->translate.size != 2)
        return fail_count(host, "translate", attrs->translate.size, "(of the height, of the width)",
                          err);
    if (attrs->scale.size != 2 || attrs->scale.data[0] > attrs->scale.data[1])
        return host->fail_attr(err, "scale", NULL, PFD_INVALID_ARGUMENT,
                               " must be two numbers, the lowest and the highest");
    for (int k = 0; k < 2; k++) {
        out->translate[k] = attrs->translate.data[k];
        out->scale[k] = attrs->scale.data[k];
    }
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    affine_plan plan;
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    PFD_TRY(make_plan(args->host, args->attrs, &args->inputs[0], &plan, err));
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

static double draw(const pfd_compute_args *args, int64_t i, int64_t number, const double range[2])
{
    return pfd_uniform_between(args, i, number, range[0], range[1]);
}

/* Draws a shift of whole pixels, at most a share of the side, in either direction. */
static double draw_pixels(const pfd_compute_args *args, int64_t i, int64_t number, double share,
                          int64_t side)
{
    double most = share * (double)side;
    return rint(pfd_uniform_between(args, i, number, -most, most));
}

static pfd_affine_motion draw_motion(const pfd_compute_args *args, int64_t i,
                                     const affine_plan *plan, const pfd_image *image)
{
    return (pfd_affine_motion){
        .angle = draw(args, i, DRAW_ANGLE, plan->degrees),
        .down = draw_pixels(args, i, DRAW_DOWN, plan->translate[0], image->height),
        .right = draw_pixels(args, i, DRAW_RIGHT, plan->translate[1], image->width),
        .scale = draw(args, i, DRAW_SCALE, plan->scale),
        .shear_x = draw(args, i, DRAW_SHEAR_X, plan->shear_x),
        .shear_y = draw(args, i, DRAW_SHEAR_Y, plan->shear_y),
        .centre_x = (double)image->width / 2,
        .centre_y = (double)image->height / 2,
    };
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    affine_plan plan;
    PFD_TRY(make_plan(args->host, args->attrs, &args->inputs[0]->type, &plan, err));
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image image;
        PFD_TRY(pfd_image_with_pixels(args, 0, i, &image, err));
        PFD_TRY(pfd_check_size(args, i, &(pfd_size){image.height, image.width}, err));
        pfd_affine_motion motion = draw_motion(args, i, &plan, &image);
        pfd_affine places = pfd_affine_of(&motion);
        pfd_image_region region = pfd_whole_image(&image);
        uint8_t *out = pfd_image_to_write(args, 0, i, image.height, image.width, err);
        if (!out) return err->status;
        pfd_affine_warp(&region, &places, plan.style.bilinear, plan.style.fill, out, image.height,
                        image.width);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOATS_ATTR(random_affine_attrs, degrees, NULL, -36000, 36000,
                    "Range of the angle, [min, max], clockwise; one number n means [-n, n], [0] no "
                    "rotation."),
    PFD_FLOATS_ATTR(random_affine_attrs, translate, "0,0", 0, 1,
                    "(vertical, horizontal): the largest shift of an image, up or down as a "
                    "fraction of its height, left or right as a fraction of its width; shifts are "
                    "whole pixels. torchvision has the horizontal fraction first."),
    PFD_FLOATS_ATTR(random_affine_attrs, scale, "1,1", 0.001, 1000,
                    "Range of the factor by which an image is enlarged, [min, max]."),
    PFD_FLOATS_ATTR(random_affine_attrs, shear, "", -89, 89,
                    "Range of the shear in degrees: [min, max] of x, which moves rows against each "
                    "other, and optionally [min, max] of y after it, which moves columns, in "
                    "torchvision's order; one number n means [-n, n] of x; empty: no shear."),
    PFD_WARP_ATTRS("bilinear"),
};

static const pfd_port outputs[] = {{"out", "The images in the same sizes, uint8."}};

const pfd_op pfd_op_random_affine = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_byte_images, outputs),
    .name = "RandomAffine",
    .doc = "Rotates, moves, scales and shears each image by random amounts, around its middle. "
           "Angles turn clockwise, as in torchvision's RandomAffine; those of Rotate and "
           "RandomRotation turn counter-clockwise. translate is (vertical, horizontal), but shear "
           "has x, the horizontal one, first. The amounts are drawn uniformly; they depend on "
           "seed, epoch, record and the name of the node.",
    PFD_OP_ATTRS(random_affine_attrs, attr_table),
};
