/* Normalize: images to floats with mean 0 and standard deviation 1. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "images/pixels/normalize_pixels.h"

typedef struct normalize_attrs {
    pfd_list_float64 mean, std;
    int32_t layout;
    int32_t dtype;
} normalize_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const normalize_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8 | 1u << PFD_FLOAT32, err));
    int64_t channels = pfd_image_channels(in);
    args->outputs[0] = pfd_normalized_type(attrs->dtype, attrs->layout == 0, channels, in->shape[0],
                                           in->shape[1]);
    return pfd_check_mean_std(args, &attrs->mean, &attrs->std, channels, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const normalize_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0]->type;
    int64_t channels = pfd_image_channels(in);
    pfd_normalization how = {.is_planar = attrs->layout == 0, .dtype = attrs->dtype};
    pfd_set_mean_std(&how, &attrs->mean, &attrs->std, channels, in->dtype == PFD_UINT8 ? 255 : 1);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image image = pfd_image_at(args->inputs[0], i);
        pfd_row_type type = pfd_normalized_type(attrs->dtype, how.is_planar, channels, image.height,
                                                image.width);
        void *out = pfd_row_to_write(args, 0, i, type.shape, err);
        if (!out) return err->status;
        if (image.height == 0 || image.width == 0) continue;
        if (in->dtype == PFD_UINT8)
            pfd_normalize(&how, image.data, image.width * channels, image.height, image.width, 0,
                          out);
        else
            pfd_normalize_float32(&how, (const void *)image.data, image.height, image.width, out);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_MEAN_STD_ATTRS(normalize_attrs, NULL, NULL, "each number, which is 0 to 1"),
    PFD_CHOICE_ATTR(normalize_attrs, layout, "CHW", "CHW|HWC",
                    "Whether a row of the output is (channels, height, width), or "
                    "(height, width, channels)."),
    PFD_DTYPE_ATTR(normalize_attrs, dtype, "float32", "float32|float16|bfloat16",
                   "The dtype of the output."),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 or float32 (height, width, channels) or (height, width), also ragged."},
};
static const pfd_port outputs[] = {
    {"out", "Floats, (channels, height, width) or (height, width, channels)."},
};

const pfd_op pfd_op_normalize = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_KEEPS_EQUAL_ROWS, inputs, outputs),
    .name = "Normalize",
    .doc = "Scales images of bytes to the range 0 to 1, and computes (x - mean) / std. Numbers of "
           "uint8 are divided by 255, numbers of float32 are not scaled. This is torchvision's "
           "ToTensor and Normalize; IMAGENET_MEAN and IMAGENET_STD have this range. "
           "CropMirrorNormalize takes mean and std from 0 to 255. The arithmetic is float32: the "
           "difference is rounded, then its product with 1 / std, where mean and std are "
           "multiplied by 255 for uint8; floats of 16 bits are rounded once more.",
    PFD_OP_ATTRS(normalize_attrs, attr_table),
};
