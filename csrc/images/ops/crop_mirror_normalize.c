/* CropMirrorNormalize: a part of each image, mirrored or not, as floats. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "images/pixels/normalize_pixels.h"
#include "parse/row_type.h"

#include <inttypes.h>

enum { any_colours, rgb, bgr, grey }; /* attr color_space */

typedef struct crop_mirror_normalize_attrs {
    int32_t color_space, output_layout, output_dtype;
    pfd_list_float64 mean, std;
    int64_t crop_h, crop_w;
    double crop_pos_y, crop_pos_x;
} crop_mirror_normalize_attrs;

static pfd_status check_channels(const pfd_infer_args *args, int64_t channels, pfd_error *err)
{
    const crop_mirror_normalize_attrs *attrs = args->attrs;
    int64_t needed = attrs->color_space == grey ? 1 : 3;
    if (attrs->color_space == any_colours || channels == needed) return PFD_OK;
    return args->host->fail_attr(err, "color_space", NULL, PFD_INVALID_ARGUMENT,
                                 " says that images have %" PRId64 " channels; those of input "
                                 "'in' have %" PRId64,
                                 needed, channels);
}

static pfd_status check_mirror(const pfd_infer_args *args, pfd_error *err)
{
    if (args->num_inputs < 2) return PFD_OK;
    const pfd_row_type *type = &args->inputs[1];
    int32_t is_one = type->ndim == 0 || (type->ndim == 1 && type->shape[0] == 1);
    if (is_one && (type->dtype == PFD_BOOL || type->dtype == PFD_INT8 || type->dtype == PFD_UINT8))
        return PFD_OK;
    return pfd_refuse_rows(args, 1, "mirror",
                           "they must be one number of int8, uint8 or bool, as CoinFlip makes it",
                           err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const crop_mirror_normalize_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    int64_t channels = pfd_image_channels(in);
    PFD_TRY(check_channels(args, channels, err));
    PFD_TRY(check_mirror(args, err));
    PFD_TRY(pfd_check_mean_std(args, &attrs->mean, &attrs->std, channels, err));
    if ((in->shape[0] >= 0 && in->shape[0] < attrs->crop_h) ||
        (in->shape[1] >= 0 && in->shape[1] < attrs->crop_w))
        return pfd_refuse_rows(args, 0, "in", "they must not be smaller than the crop", err);
    args->outputs[0] = pfd_normalized_type(attrs->output_dtype, attrs->output_layout == 0, channels,
                                           attrs->crop_h ? attrs->crop_h : in->shape[0],
                                           attrs->crop_w ? attrs->crop_w : in->shape[1]);
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const crop_mirror_normalize_attrs *attrs = args->attrs;
    const pfd_tensor *mirrors = args->num_inputs > 1 ? args->inputs[1] : NULL;
    int64_t channels = pfd_image_channels(&args->inputs[0]->type);
    pfd_normalization how = {.is_planar = attrs->output_layout == 0, .dtype = attrs->output_dtype};
    pfd_set_mean_std(&how, &attrs->mean, &attrs->std, channels, 1);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image image = pfd_image_at(args->inputs[0], i);
        int64_t height = attrs->crop_h ? attrs->crop_h : image.height;
        int64_t width = attrs->crop_w ? attrs->crop_w : image.width;
        if (image.height < height || image.width < width)
            return args->host->fail_row(err, i, -1, PFD_CORRUPT_DATA,
                                        "the image is %" PRId64 " x %" PRId64 " (height x width); "
                                        "it must not be smaller than the crop, %" PRId64
                                        " x %" PRId64,
                                        image.height, image.width, height, width);
        int64_t y = (int64_t)((double)(image.height - height) * attrs->crop_pos_y);
        int64_t x = (int64_t)((double)(image.width - width) * attrs->crop_pos_x);
        pfd_row_type type =
            pfd_normalized_type(attrs->output_dtype, how.is_planar, channels, height, width);
        void *out = pfd_row_to_write(args, 0, i, type.shape, err);
        if (!out) return err->status;
        if (height == 0 || width == 0) continue;
        int64_t row_bytes = image.width * channels;
        pfd_normalize(&how, image.data + y * row_bytes + x * channels, row_bytes, height, width,
                      mirrors && mirrors->data[i] != 0, out);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_CHOICE_ATTR(crop_mirror_normalize_attrs, color_space, "any", "any|RGB|BGR|GRAY",
                    "What the channels are: GRAY is one channel, RGB and BGR are three, any is not "
                    "checked. They are never changed."),
    PFD_CHOICE_ATTR(crop_mirror_normalize_attrs, output_layout, "NCHW", "NCHW|NHWC",
                    "Whether a row of the output is (channels, height, width), or "
                    "(height, width, channels)."),
    PFD_MEAN_STD_ATTRS(crop_mirror_normalize_attrs, "0", "1", "each number, which is 0 to 255"),
    PFD_INT_ATTR(crop_mirror_normalize_attrs, crop_h, "0", 0, 1 << 30,
                 "Height of the part that is cut out; 0 means the height of the image."),
    PFD_INT_ATTR(crop_mirror_normalize_attrs, crop_w, "0", 0, 1 << 30,
                 "Width of the part that is cut out; 0 means the width of the image."),
    PFD_FLOAT_ATTR(crop_mirror_normalize_attrs, crop_pos_y, "0.5", 0, 1,
                   "The position of the part: 0 at the top, 1 at the bottom; its first row is "
                   "rounded down."),
    PFD_FLOAT_ATTR(crop_mirror_normalize_attrs, crop_pos_x, "0.5", 0, 1,
                   "The position of the part: 0 at the left, 1 at the right; its first column is "
                   "rounded down."),
    PFD_DTYPE_ATTR(crop_mirror_normalize_attrs, output_dtype, "float32", "float32|float16|bfloat16",
                   "The dtype of the output."),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 (height, width, channels) or (height, width), also ragged."},
    {"mirror", "One number for each image, int8, uint8 or bool; any number except 0 mirrors the "
               "image left to right."},
};
static const pfd_port outputs[] = {
    {"out", "Floats, (channels, height, width) or (height, width, channels). Rows have one size if "
            "the images do, or if both crop_h and crop_w are given."},
};

const pfd_op pfd_op_crop_mirror_normalize = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_OPTIONAL_INPUT, inputs, outputs),
    .name = "CropMirrorNormalize",
    .aliases = "crop_mirror_normalize_from_uint8|crop_mirror_normalize_from_tensorbuffer",
    .doc = "Cuts a part out of each image, mirrors it, and computes (x - mean) / std, in one pass. "
           "Mean and std have the range of the pixels, 0 to 255, as in OneFlow; Normalize has the "
           "convention of torchvision. The arithmetic is float32: x - mean is rounded, then its "
           "product with 1 / std; floats of 16 bits are rounded once more. An image that is "
           "smaller than crop_h x crop_w is an error of its row.",
    PFD_OP_ATTRS(crop_mirror_normalize_attrs, attr_table),
};
