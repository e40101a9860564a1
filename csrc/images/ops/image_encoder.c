/* ImageEncoder: images as the bytes of files. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "images/codecs/image_codec.h"
#include "images/pixels/image_rows.h"

typedef struct image_encoder_attrs {
    int32_t format, quality, subsampling, compression_level;
} image_encoder_attrs;

static pfd_encode_options options_of(const image_encoder_attrs *attrs)
{
    return (pfd_encode_options){attrs->format, attrs->quality, attrs->subsampling,
                                attrs->compression_level};
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    pfd_encode_options options = options_of(args->attrs);
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    PFD_TRY(pfd_expect_encoder(args->host, &options, pfd_image_channels(&args->inputs[0]), err));
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    pfd_encode_options options = options_of(args->attrs);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_encode_call call = {args->host, args->scratch, i};
        pfd_image image = pfd_image_at(args->inputs[0], i);
        pfd_encoded file;
        PFD_TRY(pfd_encode_image(&call, &options, &image, &file, err));
        if (!pfd_row_points_at(args, 0, i, file.data, &file.size, err)) return err->status;
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_CHOICE_ATTR(image_encoder_attrs, format, "jpeg", "jpeg|png|ppm|bmp",
                    "The format of the files. PNG, PPM and BMP lose nothing; PPM writes PGM for "
                    "images of one channel."),
    PFD_INT_ATTR(image_encoder_attrs, quality, "90", 1, 100,
                 "For JPEG: the quality on libjpeg's scale, as in Pillow."),
    PFD_CHOICE_ATTR(image_encoder_attrs, subsampling, "4:2:0", "4:2:0|4:2:2|4:4:0|4:4:4",
                    "For JPEG with colours: how the two colour differences are stored; 4:4:4 keeps "
                    "all of them, 4:2:0 keeps one for four pixels."),
    PFD_INT_ATTR(image_encoder_attrs, compression_level, "6", 0, 9,
                 "For PNG: zlib's level; 0 does not compress, 1 is fast, 9 makes small files."),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 (height, width, channels) or (height, width): 1 channel is gray, 3 are "
           "RGB; PNG also takes 2, gray with alpha, and 4, RGBA."},
};
static const pfd_port outputs[] = {{"out", "The bytes of each file, uint8 (None,)."}};

const pfd_op pfd_op_image_encoder = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "ImageEncoder",
    .doc = "Encodes images as files of JPEG, PNG, PPM or BMP. "
           "The bytes depend on the image, the attrs and the versions of the libraries only.",
    PFD_OP_ATTRS(image_encoder_attrs, attr_table),
};
