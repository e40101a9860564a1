/* ImageSize: height and width of image files, without decoding them. */
#include "core/op_shorthand.h"
#include "images/codecs/image_codec.h"
#include "parse/row_type.h"

typedef struct image_size_attrs {
    pfd_decode_options decode;
} image_size_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    PFD_TRY(pfd_expect_bytes(args, err));
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64, .ndim = 1, .shape = {2}};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const image_size_attrs *attrs = args->attrs;
    int64_t *out = (void *)args->outputs[0]->data;
    pfd_decode_options options = {.apply_orientation = attrs->decode.apply_orientation,
                                  .incomplete = PFD_INCOMPLETE_FILL,
                                  .max_pixels = INT64_MAX};
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image_file file = pfd_image_file_at(args, 0, i);
        pfd_image_header header;
        PFD_TRY(pfd_read_image_header(&file, &options, &header, err));
        out[2 * i] = header.height;
        out[2 * i + 1] = header.width;
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {PFD_ORIENTATION_ATTR(image_size_attrs)};

static const pfd_port inputs[] = {
    {"in", "Rows of bytes, uint8 of one dimension: each the whole file of one image, or its "
           "beginning with the header."},
};
static const pfd_port outputs[] = {{"out", "Height and width, int64 (2,)."}};

const pfd_op pfd_op_image_size = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "ImageSize",
    .doc = "Reads height and width from the headers of image files, without decoding pixels. The "
           "op supports the formats of ImageDecoder, and needs none of their libraries. With the "
           "same apply_orientation the sizes are those of ImageDecoder's images.",
    PFD_OP_ATTRS(image_size_attrs, attr_table),
};
