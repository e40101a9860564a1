/* RandAugment: a few random changes of one strength. */
#include "core/op_shorthand.h"
#include "images/ops/augmentations.h"
#include "images/ops/each_image.h"
#include "images/pixels/random_draws.h"

#include <inttypes.h>
#include <string.h>

typedef struct rand_augment_attrs {
    pfd_warp_attrs warp;
    int64_t num_ops, magnitude, num_magnitude_bins;
} rand_augment_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const rand_augment_attrs *attrs = args->attrs;
    PFD_TRY(pfd_infer_same_colours(args, err));
    if (attrs->magnitude >= attrs->num_magnitude_bins)
        return args->host->fail_attr(err, "magnitude", NULL, PFD_INVALID_ARGUMENT,
                                     " = %" PRId64 "; with num_magnitude_bins = %" PRId64
                                     " it must be in [0, %" PRId64 "]",
                                     attrs->magnitude, attrs->num_magnitude_bins,
                                     attrs->num_magnitude_bins - 1);
    pfd_warp_style style;
    return pfd_take_warp_style(args->host, &attrs->warp, &args->inputs[0], &style, err);
}

/* Change k has two draws: 2 * k + 1 chooses the change, 2 * k + 2 its direction. */
static pfd_status change(const pfd_compute_args *args, int64_t row, const pfd_image *in,
                         uint8_t *out, pfd_room *room, pfd_error *err)
{
    const rand_augment_attrs *attrs = args->attrs;
    pfd_warp_style style;
    pfd_size size = {in->height, in->width};
    int64_t bytes = in->height * in->width * in->channels;
    pfd_image image = *in;
    uint8_t *other = pfd_room_for(args, room, bytes, err);
    if (!other) return err->status;
    PFD_TRY(pfd_check_size(args, row, &size, err));
    PFD_TRY(pfd_take_warp_style(args->host, &attrs->warp, &args->inputs[0]->type, &style,
                                err));
    for (int64_t k = 0; k < attrs->num_ops; k++) {
        int64_t chosen = pfd_uniform_integer(args, row, 2 * k + 1, PFD_AUGMENTATIONS);
        pfd_strength strength = {.bin = attrs->magnitude,
                                 .bins = attrs->num_magnitude_bins,
                                 .negative = pfd_bernoulli(args, row, 2 * k + 2, 0.5)};
        if (chosen == PFD_IDENTITY) continue;
        uint8_t *to = image.data == out ? other : out;
        pfd_augment(&image, (int32_t)chosen, &strength, &style, to);
        image.data = to;
    }
    if (image.data != out) memcpy(out, image.data, (size_t)bytes);
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    return pfd_each_image(args, 1, change, err);
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(rand_augment_attrs, num_ops, "2", 0, 1000, "The number of changes to each image."),
    PFD_INT_ATTR(rand_augment_attrs, magnitude, "9", 0, 1e6,
                 "The strength of the changes, from 0 to num_magnitude_bins - 1."),
    PFD_INT_ATTR(rand_augment_attrs, num_magnitude_bins, "31", 2, 1e6,
                 "The number of strengths."),
    PFD_WARP_ATTRS("nearest"),
};

const pfd_op pfd_op_rand_augment = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_colour_images, pfd_same_images),
    .name = "RandAugment",
    .doc = "Makes num_ops random changes to each image, one after the other. "
           "Changes and strengths are torchvision's: identity, shears, translations, rotation, "
           "brightness, color, contrast, sharpness, posterize, solarize, autocontrast, equalize, "
           "each with the same probability; those with two directions take either. They give "
           "Pillow's results.",
    PFD_OP_ATTRS(rand_augment_attrs, attr_table),
};
