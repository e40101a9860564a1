/* TrivialAugment: one random change of random strength. */
#include "core/op_shorthand.h"
#include "images/ops/augmentations.h"
#include "images/ops/each_image.h"
#include "images/pixels/random_draws.h"

typedef struct trivial_augment_attrs {
    pfd_warp_attrs warp;
    int64_t num_magnitude_bins;
} trivial_augment_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const trivial_augment_attrs *attrs = args->attrs;
    PFD_TRY(pfd_infer_same_colours(args, err));
    pfd_warp_style style;
    return pfd_take_warp_style(args->host, &attrs->warp, &args->inputs[0], &style, err);
}

static pfd_status change(const pfd_compute_args *args, int64_t row, const pfd_image *in,
                         uint8_t *out, pfd_room *room, pfd_error *err)
{
    const trivial_augment_attrs *attrs = args->attrs;
    pfd_warp_style style;
    pfd_size size = {in->height, in->width};
    int64_t chosen = pfd_uniform_integer(args, row, 1, PFD_AUGMENTATIONS);
    pfd_strength strength = {.bin = pfd_uniform_integer(args, row, 2, attrs->num_magnitude_bins),
                             .bins = attrs->num_magnitude_bins,
                             .wide = 1,
                             .negative = pfd_bernoulli(args, row, 3, 0.5)};
    (void)room;
    PFD_TRY(pfd_check_size(args, row, &size, err));
    PFD_TRY(pfd_take_warp_style(args->host, &attrs->warp, &args->inputs[0]->type, &style,
                                err));
    pfd_augment(in, (int32_t)chosen, &strength, &style, out);
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    return pfd_each_image(args, 1, change, err);
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(trivial_augment_attrs, num_magnitude_bins, "31", 2, 1e6,
                 "The number of strengths."),
    PFD_WARP_ATTRS("nearest"),
};

const pfd_op pfd_op_trivial_augment = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_colour_images, pfd_same_images),
    .name = "TrivialAugment",
    .aliases = "TrivialAugmentWide",
    .doc = "Makes one random change of random strength to each image. "
           "Changes and strengths are those of torchvision's TrivialAugmentWide; the changes are "
           "those of RandAugment.",
    PFD_OP_ATTRS(trivial_augment_attrs, attr_table),
};
