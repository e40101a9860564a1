/* ImageRandomCrop: a random part of each image, in its own size. */
#include "core/op_shorthand.h"
#include "images/ops/crops.h"

typedef struct image_random_crop_attrs {
    pfd_list_float64 random_area, random_aspect_ratio;
    int64_t num_attempts;
} image_random_crop_attrs;

static pfd_status make_rule(const pfd_host *host, const image_random_crop_attrs *attrs,
                            pfd_crop_rule *out, pfd_error *err)
{
    return pfd_make_crop_rule(host, "random_area", attrs->random_area, "random_aspect_ratio",
                              attrs->random_aspect_ratio, attrs->num_attempts, out, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    pfd_crop_rule rule;
    PFD_TRY(pfd_expect_images(args, 0, "in", PFD_ALL_DTYPES, err));
    PFD_TRY(make_rule(args->host, args->attrs, &rule, err));
    args->outputs[0] = pfd_image_type(&args->inputs[0], -1, -1);
    return PFD_OK;
}

static pfd_status crop(const pfd_compute_args *args, const pfd_producer *decoder, pfd_error *err)
{
    static const pfd_border border;
    pfd_crop_rule rule;
    PFD_TRY(make_rule(args->host, args->attrs, &rule, err));
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_input_image image;
        PFD_TRY(pfd_open_image(args, decoder, i, &image, err));
        pfd_window window = pfd_random_window(args, i, &rule, image.height, image.width);
        void *out = pfd_image_to_write(args, 0, i, window.height, window.width, err);
        if (!out) return err->status;
        PFD_TRY(pfd_write_window(&image, &window, &border, out, err));
    }
    return PFD_OK;
}

PFD_CROP_COMPUTE(image_random_crop)

static const pfd_attr attr_table[] = {
    PFD_CROP_RULE_ATTRS(image_random_crop_attrs, random_area, random_aspect_ratio,
                        "0.75,1.333333"),
};

static const pfd_port outputs[] = {{"out", "A part of each image, of its own size: ragged."}};

const pfd_op pfd_op_image_random_crop = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_any_images, outputs),
    .name = "ImageRandomCrop",
    .doc = "Cuts a random part out of each image, as RandomResizedCrop does before it resamples. "
           "This is OneFlow's image_random_crop; the draws depend on the seed of the reader, the "
           "epoch, the record and the name of the node.",
    PFD_OP_ATTRS(image_random_crop_attrs, attr_table),
};
