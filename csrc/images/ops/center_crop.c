/* CenterCrop: a part of one size from the middle of each image, or from another place. */
#include "core/op_shorthand.h"
#include "images/ops/crops.h"

#include <inttypes.h>
#include <math.h>

typedef struct center_crop_attrs {
    pfd_list_int64 size;
    pfd_list_float64 position, fill;
} center_crop_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const center_crop_attrs *attrs = args->attrs;
    uint8_t fill[PFD_MOST_PIXEL_BYTES];
    pfd_size size;
    PFD_TRY(pfd_expect_images(args, 0, "in", PFD_ALL_DTYPES, err));
    PFD_TRY(pfd_take_size(args->host, "size", attrs->size, &size, err));
    PFD_TRY(pfd_take_fill(args->host, "fill", attrs->fill, &args->inputs[0], fill, err));
    if (attrs->position.size != 2)
        return args->host->fail_attr(err, "position", NULL, PFD_INVALID_ARGUMENT,
                                     " has %" PRId64 " numbers; it must be (vertical, horizontal)",
                                     attrs->position.size);
    args->outputs[0] = pfd_image_type(&args->inputs[0], size.height, size.width);
    return PFD_OK;
}

/* The row or column where the crop begins; negative: in the border around the image. */
static int64_t begin_of(int64_t side, int64_t crop, double position)
{
    if (crop <= side) return (int64_t)rint((double)(side - crop) * position);
    return -(int64_t)floor((double)(crop - side) * position);
}

static pfd_status crop(const pfd_compute_args *args, const pfd_producer *decoder, pfd_error *err)
{
    const center_crop_attrs *attrs = args->attrs;
    const pfd_row_type *type = &args->outputs[0]->type; /* of images of another size */
    pfd_border border = {.kind = PFD_BORDER_CONSTANT};
    pfd_size size;
    PFD_TRY(pfd_take_size(args->host, "size", attrs->size, &size, err));
    PFD_TRY(pfd_take_fill(args->host, "fill", attrs->fill, type, border.fill, err));
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_input_image image;
        PFD_TRY(pfd_open_image(args, decoder, i, &image, err));
        pfd_window window = {
            .top = begin_of(image.height, size.height, attrs->position.data[0]),
            .left = begin_of(image.width, size.width, attrs->position.data[1]),
            .height = size.height,
            .width = size.width,
        };
        void *out = pfd_image_to_write(args, 0, i, size.height, size.width, err);
        if (!out) return err->status;
        PFD_TRY(pfd_write_window(&image, &window, &border, out, err));
    }
    return PFD_OK;
}

PFD_CROP_COMPUTE(center_crop)

static const pfd_attr attr_table[] = {
    PFD_SIZE_ATTR(center_crop_attrs, size, NULL, "(height, width) of the output."),
    PFD_FLOATS_ATTR(center_crop_attrs, position, "0.5,0.5", 0, 1,
                    "Where the part is cut out, (vertical, horizontal): 0 at the top or left, 0.5 "
                    "in the middle, 1 at the bottom or right. Places between two pixels are "
                    "rounded, ties to even."),
    PFD_FLOATS_ATTR(center_crop_attrs, fill, "0", 0, 0,
                    "The value of the border around an image that is smaller than size: one "
                    "number, or one for each channel."),
};

static const pfd_port outputs[] = {{"out", "Images of one size, of the same dtype."}};

const pfd_op pfd_op_center_crop = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_any_images, outputs),
    .name = "CenterCrop",
    .doc = "Cuts a part of one size out of the middle of each image. Smaller images get a border "
           "first. The result equals that of torchvision's CenterCrop.",
    PFD_OP_ATTRS(center_crop_attrs, attr_table),
};
