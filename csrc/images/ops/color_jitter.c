/* ColorJitter: brightness, contrast, saturation and hue changed by chance. */
#include "core/op_shorthand.h"
#include "images/ops/each_image.h"
#include "images/pixels/random_draws.h"

#include <string.h>

enum { brightness, contrast, saturation, hue, num_changes };

typedef struct color_jitter_attrs {
    pfd_list_float64 brightness, contrast, saturation, hue;
    double probability;
} color_jitter_attrs;

static const char *const names[] = {"brightness", "contrast", "saturation", "hue"};

typedef struct range {
    double low, high;
} range;

static const pfd_list_float64 *list_of(const color_jitter_attrs *attrs, int32_t change)
{
    const pfd_list_float64 *const lists[] = {&attrs->brightness, &attrs->contrast,
                                             &attrs->saturation, &attrs->hue};
    return lists[change];
}

/* One number says how far a factor may be from 1, or a hue from 0. */
static range range_of(const color_jitter_attrs *attrs, int32_t change)
{
    const pfd_list_float64 *list = list_of(attrs, change);
    if (list->size == 2) return (range){list->data[0], list->data[1]};
    double far = list->data[0];
    if (change == hue) return (range){-far, far};
    return (range){far < 1 ? 1 - far : 0, 1 + far};
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const color_jitter_attrs *attrs = args->attrs;
    for (int32_t i = 0; i < num_changes; i++) {
        const pfd_list_float64 *list = list_of(attrs, i);
        if (list->size != 1 && list->size != 2)
            return args->host->fail_attr(err, names[i], NULL, PFD_INVALID_ARGUMENT,
                                         " must be one number, or minimum and maximum");
        range limits = range_of(attrs, i);
        double least = i == hue ? -0.5 : 0, most = i == hue ? 0.5 : 1e6;
        if (!(list->size == 2 || list->data[0] >= 0) || !(limits.low <= limits.high) ||
            limits.low < least || limits.high > most)
            return args->host->fail_attr(err, names[i], NULL, PFD_INVALID_ARGUMENT,
                                         " gives the range %g to %g; it must be in [%g, %g]",
                                         limits.low, limits.high, least, most);
    }
    return pfd_infer_same_colours(args, err);
}

static void apply(int32_t change, const pfd_image *in, double amount, uint8_t *out)
{
    switch (change) {
    case brightness: pfd_adjust_brightness(in, (float)amount, out); break;
    case contrast: pfd_adjust_contrast(in, (float)amount, out); break;
    case saturation: pfd_adjust_saturation(in, (float)amount, out); break;
    default: pfd_adjust_hue(in, amount, out);
    }
}

/* Draw 1 gives the order, draws 2 to 5 the amounts. */
static pfd_status change(const pfd_compute_args *args, int64_t row, const pfd_image *in,
                         uint8_t *out, pfd_room *room, pfd_error *err)
{
    const color_jitter_attrs *attrs = args->attrs;
    int32_t order[num_changes] = {brightness, contrast, saturation, hue};
    int64_t number = pfd_uniform_integer(args, row, 1, 24); /* one of the 24 orders */
    (void)room, (void)err;
    pfd_image image = *in;
    for (int32_t i = num_changes - 1; i >= 0; i--) {
        int64_t pick = number % (i + 1);
        number /= i + 1;
        int32_t chosen = order[pick];
        order[pick] = order[i];
        range limits = range_of(attrs, chosen);
        double none = chosen == hue ? 0 : 1;
        if (limits.low == none && limits.high == none) continue;
        double amount = pfd_uniform_between(args, row, 2 + chosen, limits.low, limits.high);
        apply(chosen, &image, amount, out);
        image.data = out;
    }
    if (image.data == in->data)
        memcpy(out, in->data, (size_t)(in->height * in->width * in->channels));
    return PFD_OK;
}

PFD_EACH_IMAGE_COMPUTE(color_jitter_attrs)

static const pfd_attr attr_table[] = {
    PFD_FLOATS_ATTR(color_jitter_attrs, brightness, "0", 0, 0,
                    "Range of the factor for brightness, [min, max]; a number b means "
                    "[max(0, 1 - b), 1 + b]."),
    PFD_FLOATS_ATTR(color_jitter_attrs, contrast, "0", 0, 0,
                    "Range of the factor for contrast, the distance from the mean grey; like "
                    "brightness."),
    PFD_FLOATS_ATTR(color_jitter_attrs, saturation, "0", 0, 0,
                    "Range of the factor for saturation, the distance from the grey of the pixel; "
                    "like brightness."),
    PFD_FLOATS_ATTR(color_jitter_attrs, hue, "0", 0, 0,
                    "Range of the shift of the hue, [min, max] within [-0.5, 0.5], where 1 is a "
                    "whole turn; a number h means [-h, h]."),
    PFD_PROBABILITY_ATTR(color_jitter_attrs),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 (height, width, channels), RGB or grey, also ragged."},
};

const pfd_op pfd_op_color_jitter = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, pfd_same_images),
    .name = "ColorJitter",
    .doc = "Changes brightness, contrast, saturation and hue by random amounts, in random order. "
           "The rule is torchvision's: each amount is uniform in its range. Each change equals "
           "Pillow's (ImageEnhance, and hue as a byte of HSV), bit for bit. A range of only 1, or "
           "for the hue of only 0, leaves the change out. Two equal numbers give a fixed amount: "
           "brightness=[1.2, 1.2]. Saturation and hue of grey images stay the same.",
    PFD_OP_ATTRS(color_jitter_attrs, attr_table),
};
