/* ImageDecoder: the bytes of image files as pixels. */
#include "core/op_shorthand.h"
#include "images/codecs/image_codec.h"
#include "images/pixels/image_rows.h"
#include "parse/row_type.h"

typedef struct image_decoder_attrs {
    pfd_decode_options decode; /* first: see pfd_take_window() */
} image_decoder_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const image_decoder_attrs *attrs = args->attrs;
    PFD_TRY(pfd_expect_bytes(args, err));
    args->outputs[0] = (pfd_row_type){
        .dtype = PFD_UINT8, .ndim = 3,
        .shape = {-1, -1, pfd_color_channels(attrs->decode.color_space)}};
    return PFD_OK;
}

static pfd_status decode(const pfd_compute_args *args, int64_t i, pfd_error *err)
{
    const image_decoder_attrs *attrs = args->attrs;
    pfd_image_file file = pfd_image_file_at(args, 0, i);
    pfd_image_header header;
    PFD_TRY(pfd_read_image_header(&file, &attrs->decode, &header, err));
    pfd_region whole = {0, 0, header.height, header.width};
    PFD_TRY(pfd_check_image_memory(&file, &attrs->decode, &header, &whole, err));
    pfd_pixels pixels = {.stride = header.width * pfd_color_channels(attrs->decode.color_space)};
    pixels.data = pfd_image_to_write(args, 0, i, header.height, header.width, err);
    if (!pixels.data) return err->status;
    return pfd_decode_region(&file, &attrs->decode, &header, &whole, &pixels, err);
}

PFD_COMPUTE_EACH_ROW(decode)

static const pfd_attr attr_table[] = {PFD_DECODE_ATTRS(image_decoder_attrs)};

static const pfd_port inputs[] = {
    {"in", "Rows of bytes, uint8 of one dimension: each the whole file of one image."},
};
static const pfd_port outputs[] = {
    {"out", "Images, uint8 (height, width, channels), of any height and width."},
};

const pfd_op pfd_op_image_decoder = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "ImageDecoder",
    .doc = "Decodes image files: JPEG, PNG, WebP, BMP and PNM (PBM, PGM, PPM). The first bytes "
           "tell the format. JPEG is decoded as libjpeg-turbo does by default (accurate inverse "
           "DCT, smooth upsampling), bit for bit like Pillow; CMYK is converted to RGB by Pillow's "
           "formula. Samples of 16 bits keep their high byte in PNG, and are scaled to 0 to 255 "
           "and rounded in PNM. Only the first frame of an animation is decoded. A row is damaged "
           "if it is not an image, if the file is damaged, or if its kind is not supported, such "
           "as JPEG with 12 bits. If only a crop uses the images (CenterCrop, RandomCrop, "
           "RandomResizedCrop, ImageRandomCrop), only the part of each image that the crop needs "
           "is decoded; damage in the rest is then not noticed.",
    PFD_OP_ATTRS(image_decoder_attrs, attr_table),
};
