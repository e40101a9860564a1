/* ImageResizeToFixed: images of one size, as OneFlow makes them. */
#include "core/op_shorthand.h"
#include "images/ops/oneflow_resize.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>

typedef struct image_resize_to_fixed_attrs {
    int64_t target_width, target_height, channels;
    int32_t data_type, interpolation_type;
} image_resize_to_fixed_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const image_resize_to_fixed_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    if (pfd_image_channels(in) != attrs->channels)
        return args->host->fail_attr(err, "channels", NULL, PFD_INVALID_ARGUMENT,
                                     " = %" PRId64 "; those of input 'in' have %" PRId64,
                                     attrs->channels, pfd_image_channels(in));
    args->outputs[0] = pfd_image_type(in, attrs->target_height, attrs->target_width);
    args->outputs[0].dtype = attrs->data_type;
    args->outputs[1] = (pfd_row_type){.dtype = PFD_FLOAT32, .ndim = 1, .shape = {2}};
    return PFD_OK;
}

/* The memory for an image of uint8: the output's row, or a buffer that is converted later. */
static uint8_t *bytes_of_row(const pfd_compute_args *args, int64_t i, uint8_t *between)
{
    const pfd_tensor *out = args->outputs[0];
    return out->type.dtype == PFD_UINT8 ? out->data + i * out->row_bytes : between;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const image_resize_to_fixed_attrs *attrs = args->attrs;
    const pfd_tensor *out = args->outputs[0];
    pfd_resampler resampler = {.host = args->host, .scratch = args->scratch};
    pfd_size size = {attrs->target_height, attrs->target_width};
    int64_t pixels = size.height * size.width * attrs->channels;
    uint8_t *between = NULL;
    if (out->type.dtype != PFD_UINT8) {
        between = args->host->alloc(args->scratch, pixels);
        if (!between) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for an image");
    }
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image image;
        PFD_TRY(pfd_image_with_pixels(args, 0, i, &image, err));
        pfd_image_region region = pfd_whole_image(&image);
        int32_t filter = pfd_oneflow_filter(attrs->interpolation_type, &image, &size);
        uint8_t *bytes = bytes_of_row(args, i, between);
        PFD_TRY(pfd_resample(&resampler, filter, &region, NULL, bytes, size.height, size.width,
                             err));
        if (between)
            (void)pfd_convert(PFD_UINT8, bytes, out->type.dtype, out->data + i * out->row_bytes,
                              pixels, PFD_OVERFLOW_WRAP);
        pfd_write_scale(&image, &size, (float *)(void *)args->outputs[1]->data + 2 * i);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(image_resize_to_fixed_attrs, target_width, NULL, 1, PFD_MOST_SIDE,
                 "Width of the output."),
    PFD_INT_ATTR(image_resize_to_fixed_attrs, target_height, NULL, 1, PFD_MOST_SIDE,
                 "Height of the output."),
    PFD_INT_ATTR(image_resize_to_fixed_attrs, channels, "3", 1, PFD_MAX_CHANNELS,
                 "The number of channels that the images must have."),
    PFD_DTYPE_ATTR(image_resize_to_fixed_attrs, data_type, "uint8", "uint8|float32",
                   "The dtype of the output; float32 has the same numbers as uint8."),
    PFD_CHOICE_ATTR(image_resize_to_fixed_attrs, interpolation_type, "bilinear",
                    PFD_ONEFLOW_INTERPOLATIONS, PFD_ONEFLOW_INTERPOLATION_DOC),
};

static const pfd_port outputs[] = {
    {"out", "Images of one size."},
    {"scale", "float32 (2,): new height / old height, new width / old width."},
};

const pfd_op pfd_op_image_resize_to_fixed = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_byte_images, outputs),
    .name = "ImageResizeToFixed",
    .doc = "Resamples images to one size, and returns the scale of each image. This is OneFlow's "
           "image_resize_to_fixed, with OpenCV's filters; Resize has Pillow's. The scale is "
           "(height, width), OneFlow's is (width, height).",
    PFD_OP_ATTRS(image_resize_to_fixed_attrs, attr_table),
};
