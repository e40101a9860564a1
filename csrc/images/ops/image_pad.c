/* ImagePad: a border around each image. */
#include "core/op_shorthand.h"
#include "images/ops/crops.h"
#include "images/pixels/image_rows.h"
#include "images/pixels/image_window.h"

typedef struct image_pad_attrs {
    pfd_list_int64 padding;
    pfd_list_float64 fill;
    int32_t padding_mode;
} image_pad_attrs;

static int64_t padded(int64_t side, int64_t before, int64_t after)
{
    return side < 0 ? -1 : side + before + after;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const image_pad_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    uint8_t fill[PFD_MOST_PIXEL_BYTES];
    pfd_padding by;
    PFD_TRY(pfd_expect_images(args, 0, "in", PFD_ALL_DTYPES, err));
    PFD_TRY(pfd_take_padding(args->host, "padding", attrs->padding, &by, err));
    PFD_TRY(pfd_take_fill(args->host, "fill", attrs->fill, in, fill, err));
    args->outputs[0] = pfd_image_type(in, padded(in->shape[0], by.top, by.bottom),
                                      padded(in->shape[1], by.left, by.right));
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const image_pad_attrs *attrs = args->attrs;
    const pfd_row_type *type = &args->inputs[0]->type;
    pfd_border border = {.kind = attrs->padding_mode};
    pfd_padding by;
    PFD_TRY(pfd_take_padding(args->host, "padding", attrs->padding, &by, err));
    PFD_TRY(pfd_take_fill(args->host, "fill", attrs->fill, type, border.fill, err));
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image image;
        PFD_TRY(pfd_image_with_pixels(args, 0, i, &image, err));
        pfd_window window = {
            .top = -by.top,
            .left = -by.left,
            .height = padded(image.height, by.top, by.bottom),
            .width = padded(image.width, by.left, by.right),
        };
        void *out = pfd_image_to_write(args, 0, i, window.height, window.width, err);
        if (!out) return err->status;
        pfd_copy_window(&image, pfd_pixel_bytes(type), &window, &border, out);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_PADDING_ATTR(image_pad_attrs, padding, NULL, "Pixels to put around an image"),
    PFD_BORDER_ATTRS(image_pad_attrs),
};

static const pfd_port outputs[] = {
    {"out", "The images with more rows and columns, of the same dtype."},
};

const pfd_op pfd_op_image_pad = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_any_images, outputs),
    .name = "ImagePad",
    .doc = "Puts rows and columns around each image. Pad and PadBatch bring images of different "
           "sizes to one size.",
    PFD_OP_ATTRS(image_pad_attrs, attr_table),
};
