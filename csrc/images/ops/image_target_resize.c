/* ImageTargetResize: resamples images so that the shorter side gets a given length, as OneFlow
 * does. */
#include "core/op_shorthand.h"
#include "images/ops/oneflow_resize.h"
#include "images/pixels/resample.h"

typedef struct target_resize_attrs {
    int32_t target_size, max_size;
} target_resize_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const target_resize_attrs *attrs = args->attrs;
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    if (attrs->max_size < attrs->target_size)
        return args->host->fail_attr(err, "max_size", NULL, PFD_INVALID_ARGUMENT,
                                     " = %d is less than target_size = %d", attrs->max_size,
                                     attrs->target_size);
    pfd_infer_sized_images(args);
    return PFD_OK;
}

static pfd_size size_for(const target_resize_attrs *attrs, const pfd_image *image)
{
    int32_t is_tall = image->width < image->height;
    double shorter = (double)(is_tall ? image->width : image->height);
    double longer = (double)(is_tall ? image->height : image->width);
    int64_t new_shorter = attrs->target_size;
    int64_t new_longer = pfd_whole_pixels(longer / shorter * (double)new_shorter);
    if (new_longer > attrs->max_size) {
        new_longer = attrs->max_size;
        new_shorter = pfd_whole_pixels((double)new_longer * shorter / longer);
    }
    return is_tall ? (pfd_size){new_longer, new_shorter} : (pfd_size){new_shorter, new_longer};
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    pfd_resampler resampler = {.host = args->host, .scratch = args->scratch};
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image image;
        PFD_TRY(pfd_image_with_pixels(args, 0, i, &image, err));
        pfd_size size = size_for(args->attrs, &image);
        PFD_TRY(pfd_resize_sized_row(args, &resampler, i, &image, &size, PFD_POINT_BILINEAR, err));
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(target_resize_attrs, target_size, NULL, 1, PFD_MOST_SIDE,
                 "The new length of the shorter side."),
    PFD_INT_ATTR(target_resize_attrs, max_size, NULL, 1, PFD_MOST_SIDE,
                 "The maximum of the longer side, which takes precedence."),
};

const pfd_op pfd_op_image_target_resize = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_byte_images, pfd_sized_outputs),
    .name = "ImageTargetResize",
    .doc = "Resamples images so that the shorter side gets a given length, and returns size and "
           "scale. This is OneFlow's image_target_resize. Sizes and scales are (height, width). "
           "Pixels are bilinear, without antialias.",
    PFD_OP_ATTRS(target_resize_attrs, attr_table),
};
