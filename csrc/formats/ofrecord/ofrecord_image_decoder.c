/* OFRecordImageDecoder: the image in a feature of each record. */
#include "core/op_shorthand.h"
#include "formats/ofrecord/ofrecord_image.h"

typedef struct ofrecord_image_decoder_attrs {
    const char *blob_name;
    pfd_decode_options decode;
} ofrecord_image_decoder_attrs;

static pfd_of_images images_of(const ofrecord_image_decoder_attrs *attrs)
{
    return (pfd_of_images){attrs->blob_name, &attrs->decode, NULL};
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    pfd_of_images images = images_of(args->attrs);
    return pfd_of_images_infer(args, &images, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    pfd_of_images images = images_of(args->attrs);
    return pfd_of_images_decode(args, &images, err);
}

static const pfd_attr attr_table[] = {PFD_OF_IMAGE_ATTRS(ofrecord_image_decoder_attrs)};

const pfd_op pfd_op_ofrecord_image_decoder = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_of_inputs, pfd_of_image_outputs),
    .name = "OFRecordImageDecoder",
    .doc = "Decodes the image in a feature of each OFRecord. "
           "It is OFRecordBytesDecoder and ImageDecoder in one, with OneFlow's name and its order "
           "of colours, BGR.",
    PFD_OP_ATTRS(ofrecord_image_decoder_attrs, attr_table),
};
