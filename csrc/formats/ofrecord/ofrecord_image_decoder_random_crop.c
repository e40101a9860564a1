/* OFRecordImageDecoderRandomCrop: a random window of the image in a feature of each record. */
#include "core/op_shorthand.h"
#include "formats/ofrecord/ofrecord_image.h"

typedef struct ofrecord_image_decoder_random_crop_attrs {
    const char *blob_name;
    pfd_decode_options decode;
    pfd_list_float64 random_area, random_aspect_ratio;
    int32_t num_attempts;
} ofrecord_image_decoder_random_crop_attrs;
typedef ofrecord_image_decoder_random_crop_attrs crop_attrs;

static pfd_status images_of(const pfd_host *host, const crop_attrs *attrs, pfd_crop_rule *rule,
                            pfd_of_images *out, pfd_error *err)
{
    *out = (pfd_of_images){attrs->blob_name, &attrs->decode, rule};
    return pfd_make_crop_rule(host, "random_area", attrs->random_area, "random_aspect_ratio",
                              attrs->random_aspect_ratio, attrs->num_attempts, rule, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    pfd_crop_rule rule;
    pfd_of_images images;
    PFD_TRY(images_of(args->host, args->attrs, &rule, &images, err));
    return pfd_of_images_infer(args, &images, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    pfd_crop_rule rule;
    pfd_of_images images;
    PFD_TRY(images_of(args->host, args->attrs, &rule, &images, err));
    return pfd_of_images_decode(args, &images, err);
}

static const pfd_attr attr_table[] = {
    PFD_OF_IMAGE_ATTRS(crop_attrs),
    PFD_CROP_RULE_ATTRS(crop_attrs, random_area, random_aspect_ratio, "0.75,1.333333"),
};

const pfd_op pfd_op_ofrecord_image_decoder_random_crop = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_of_inputs, pfd_of_image_outputs),
    .name = "OFRecordImageDecoderRandomCrop",
    .doc = "Decodes a random window of the image in a feature of each OFRecord. Area and aspect "
           "ratio are drawn until the window fits, as RandomResizedCrop does; its place is then "
           "drawn uniformly. Only the part of a JPEG image that the window needs is decoded. "
           "Colours are in the order BGR unless color_space names another one. The draws depend on "
           "seed, epoch, name of the op and record alone, so the op does not have OneFlow's attrs "
           "seed and has_seed.",
    PFD_OP_ATTRS(crop_attrs, attr_table),
};
