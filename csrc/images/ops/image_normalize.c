/* ImageNormalize: (x - mean) / std of images of floats, with the same dtype and shape. */
#include "core/op_shorthand.h"
#include "images/pixels/normalize_pixels.h"

typedef struct image_normalize_attrs {
    pfd_list_float64 mean, std;
} image_normalize_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const image_normalize_attrs *attrs = args->attrs;
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_FLOAT32 | 1u << PFD_FLOAT64, err));
    args->outputs[0] = args->inputs[0];
    return pfd_check_mean_std(args, &attrs->mean, &attrs->std,
                              pfd_image_channels(&args->inputs[0]), err);
}

static void normalize_float64(const image_normalize_attrs *attrs, const double *in,
                              const pfd_image *image, double *out)
{
    int64_t pixels = image->height * image->width, channels = image->channels;
    for (int64_t c = 0; c < channels; c++) {
        double mean = attrs->mean.data[attrs->mean.size == 1 ? 0 : c];
        double scale = 1 / attrs->std.data[attrs->std.size == 1 ? 0 : c];
        for (int64_t i = c; i < pixels * channels; i += channels) out[i] = (in[i] - mean) * scale;
    }
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const image_normalize_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0]->type;
    pfd_normalization how = {.is_planar = 0, .dtype = PFD_FLOAT32};
    pfd_set_mean_std(&how, &attrs->mean, &attrs->std, pfd_image_channels(in), 1);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image image = pfd_image_at(args->inputs[0], i);
        void *out = pfd_image_to_write(args, 0, i, image.height, image.width, err);
        if (!out) return err->status;
        if (in->dtype == PFD_FLOAT64)
            normalize_float64(attrs, (const void *)image.data, &image, out);
        else
            pfd_normalize_float32(&how, (const void *)image.data, image.height, image.width, out);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_MEAN_STD_ATTRS(image_normalize_attrs, NULL, NULL, "each number"),
};

static const pfd_port inputs[] = {
    {"in", "Images, float32 or float64 (height, width, channels) or (height, width), also ragged."},
};

const pfd_op pfd_op_image_normalize = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_KEEPS_EQUAL_ROWS, inputs, pfd_same_images),
    .name = "ImageNormalize",
    .doc = "Computes (x - mean) / std of images of floats; channels stay last. "
           "This is OneFlow's image_normalize; Normalize takes bytes too, and can put the channels "
           "first. The difference is rounded to the dtype, then its product with 1 / std.",
    PFD_OP_ATTRS(image_normalize_attrs, attr_table),
};
