/* ImageResizeKeepAspectRatio: resamples images so that one side gets a given length, as OneFlow
 * does. */
#include "core/op_shorthand.h"
#include "images/ops/oneflow_resize.h"

typedef struct keep_aspect_ratio_attrs {
    int32_t target_size, min_size, max_size;
    int32_t resize_longer, interpolation_type;
} keep_aspect_ratio_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const keep_aspect_ratio_attrs *attrs = args->attrs;
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    if (attrs->min_size > attrs->target_size)
        return args->host->fail_attr(err, "min_size", NULL, PFD_INVALID_ARGUMENT,
                                     " = %d is more than target_size = %d", attrs->min_size,
                                     attrs->target_size);
    if (attrs->max_size && attrs->max_size < attrs->target_size)
        return args->host->fail_attr(err, "max_size", NULL, PFD_INVALID_ARGUMENT,
                                     " = %d is less than target_size = %d", attrs->max_size,
                                     attrs->target_size);
    pfd_infer_sized_images(args);
    return PFD_OK;
}

static pfd_size size_for(const keep_aspect_ratio_attrs *attrs, const pfd_image *image)
{
    int32_t is_tall = image->width < image->height;
    double shorter = (double)(is_tall ? image->width : image->height);
    double longer = (double)(is_tall ? image->height : image->width), ratio = shorter / longer;
    int64_t target = attrs->target_size, new_shorter = target, new_longer = target;
    if (attrs->resize_longer) {
        new_shorter = pfd_whole_pixels((double)target * ratio);
        if (new_shorter < attrs->min_size) {
            new_shorter = attrs->min_size;
            new_longer = pfd_whole_pixels((double)new_shorter / ratio);
        }
    } else {
        new_longer = pfd_whole_pixels((double)target / ratio);
        if (attrs->max_size && new_longer > attrs->max_size) {
            new_longer = attrs->max_size;
            new_shorter = pfd_whole_pixels((double)new_longer * ratio);
        }
    }
    return is_tall ? (pfd_size){new_longer, new_shorter} : (pfd_size){new_shorter, new_longer};
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const keep_aspect_ratio_attrs *attrs = args->attrs;
    pfd_resampler resampler = {.host = args->host, .scratch = args->scratch};
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image image;
        PFD_TRY(pfd_image_with_pixels(args, 0, i, &image, err));
        pfd_size size = size_for(attrs, &image);
        int32_t filter = pfd_oneflow_filter(attrs->interpolation_type, &image, &size);
        PFD_TRY(pfd_resize_sized_row(args, &resampler, i, &image, &size, filter, err));
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(keep_aspect_ratio_attrs, target_size, NULL, 1, PFD_MOST_SIDE,
                 "The new length of the shorter side, or with resize_longer of the longer side."),
    PFD_INT_ATTR(keep_aspect_ratio_attrs, min_size, "0", 0, PFD_MOST_SIDE,
                 "With resize_longer, the minimum of the shorter side, which takes precedence."),
    PFD_INT_ATTR(keep_aspect_ratio_attrs, max_size, "0", 0, PFD_MOST_SIDE,
                 "Without resize_longer, the maximum of the longer side, which takes precedence; "
                 "0: any."),
    PFD_BOOL_ATTR(keep_aspect_ratio_attrs, resize_longer, "false",
                  "Whether target_size is the length of the longer side."),
    PFD_CHOICE_ATTR(keep_aspect_ratio_attrs, interpolation_type, "bilinear",
                    PFD_ONEFLOW_INTERPOLATIONS, PFD_ONEFLOW_INTERPOLATION_DOC),
};

const pfd_op pfd_op_image_resize_keep_aspect_ratio = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_byte_images, pfd_sized_outputs),
    .name = "ImageResizeKeepAspectRatio",
    .doc = "Resamples images so that one side gets a given length, and returns size and scale. The "
           "other side is rounded, ties to even. This is OneFlow's image_resize_keep_aspect_ratio, "
           "with OpenCV's filters; Resize has Pillow's. Sizes and scales are (height, width), "
           "OneFlow's are (width, height).",
    PFD_OP_ATTRS(keep_aspect_ratio_attrs, attr_table),
};
