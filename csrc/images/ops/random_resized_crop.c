/* RandomResizedCrop: a random part of each image, resampled to one size. */
#include "core/op_shorthand.h"
#include "images/ops/crops.h"
#include "images/pixels/resample.h"

typedef struct random_resized_crop_attrs {
    pfd_list_int64 size;
    pfd_list_float64 area, aspect_ratio;
    int64_t num_attempts;
    int32_t interpolation, antialias;
} random_resized_crop_attrs;

/* The attrs, checked. */
typedef struct crop_plan {
    pfd_size size;
    pfd_crop_rule rule;
    int32_t filter;
} crop_plan;

static pfd_status make_plan(const pfd_host *host, const random_resized_crop_attrs *attrs,
                            crop_plan *out, pfd_error *err)
{
    PFD_TRY(pfd_take_size(host, "size", attrs->size, &out->size, err));
    PFD_TRY(pfd_make_crop_rule(host, "area", attrs->area, "aspect_ratio", attrs->aspect_ratio,
                               attrs->num_attempts, &out->rule, err));
    return pfd_filter_of(host, attrs->interpolation, attrs->antialias, &out->filter, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    crop_plan plan;
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    PFD_TRY(make_plan(args->host, args->attrs, &plan, err));
    args->outputs[0] = pfd_image_type(&args->inputs[0], plan.size.height, plan.size.width);
    return PFD_OK;
}

static pfd_status crop(const pfd_compute_args *args, const pfd_producer *decoder, pfd_error *err)
{
    pfd_resampler resampler = {.host = args->host, .scratch = args->scratch};
    crop_plan plan;
    PFD_TRY(make_plan(args->host, args->attrs, &plan, err));
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_input_image image;
        pfd_image_region region;
        PFD_TRY(pfd_open_image(args, decoder, i, &image, err));
        pfd_window window = pfd_random_window(args, i, &plan.rule, image.height, image.width);
        PFD_TRY(pfd_take_window(&image, &window, &region, err));
        void *out = pfd_image_to_write(args, 0, i, plan.size.height, plan.size.width, err);
        if (!out) return err->status;
        PFD_TRY(pfd_resample(&resampler, plan.filter, &region, NULL, out, plan.size.height,
                             plan.size.width, err));
    }
    return PFD_OK;
}

PFD_CROP_COMPUTE(random_resized_crop)

static const pfd_attr attr_table[] = {
    PFD_SIZE_ATTR(random_resized_crop_attrs, size, NULL, "(height, width) of the output."),
    PFD_CROP_RULE_ATTRS(random_resized_crop_attrs, area, aspect_ratio, "0.75,1.3333333333333333"),
    PFD_CHOICE_ATTR(random_resized_crop_attrs, interpolation, "bilinear", PFD_INTERPOLATIONS,
                    PFD_INTERPOLATION_DOC),
    PFD_BOOL_ATTR(random_resized_crop_attrs, antialias, "true", PFD_ANTIALIAS_DOC),
};

static const pfd_port outputs[] = {{"out", "Images of one size, uint8."}};

const pfd_op pfd_op_random_resized_crop = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_byte_images, outputs),
    .name = "RandomResizedCrop",
    .doc = "Cuts a random part out of each image, and resamples it to one size. "
           "The rule is that of torchvision and OneFlow: an area is drawn uniformly and an aspect "
           "ratio with uniform logarithm, then a place for a part of this size. The draws depend "
           "on seed, epoch, record and the name of the node.",
    PFD_OP_ATTRS(random_resized_crop_attrs, attr_table),
};
