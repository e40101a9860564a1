/* Resize: images resampled to a size that is given, or that keeps the aspect ratio. */
#include "core/op_shorthand.h"
#include "images/pixels/image_rows.h"
#include "images/pixels/resample.h"

typedef struct resize_attrs {
    pfd_list_int64 size;
    int64_t shorter, longer;
    int32_t interpolation, antialias;
} resize_attrs;

static pfd_status check_sizes(const pfd_infer_args *args, pfd_error *err)
{
    const resize_attrs *attrs = args->attrs;
    pfd_size size;
    int32_t has_side = attrs->shorter || attrs->longer;
    if (attrs->size.size == 0 && !has_side)
        return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                "no size is given: set size=(height, width), or shorter or longer "
                                "to keep the aspect ratio");
    if (attrs->size.size && has_side)
        return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                "size is given, and so is %s: set one of them",
                                attrs->shorter ? "shorter" : "longer");
    if (attrs->size.size == 1)
        return args->host->fail_attr(err, "size", NULL, PFD_INVALID_ARGUMENT,
                                     " is one number; it must be (height, width): size=(%lld, "
                                     "%lld), or shorter=%lld to keep the aspect ratio",
                                     (long long)attrs->size.data[0],
                                     (long long)attrs->size.data[0],
                                     (long long)attrs->size.data[0]);
    if (attrs->size.size) return pfd_take_size(args->host, "size", attrs->size, &size, err);
    if (attrs->shorter && attrs->longer && attrs->longer < attrs->shorter)
        return args->host->fail_attr(err, "longer", NULL, PFD_INVALID_ARGUMENT,
                                     " = %lld is less than shorter = %lld",
                                     (long long)attrs->longer, (long long)attrs->shorter);
    return PFD_OK;
}

/* side * to / from, rounded down, but at least one pixel. */
static int64_t scaled(int64_t side, int64_t to, int64_t from)
{
    int64_t out = (int64_t)((double)side * (double)to / (double)from);
    return out > 1 ? out : 1;
}

/* torchvision's rule for one number and max_size. */
static pfd_size keep_aspect_ratio(const resize_attrs *attrs, int64_t height, int64_t width)
{
    int64_t from_shorter = height < width ? height : width;
    int64_t from_longer = height < width ? width : height;
    int64_t shorter = attrs->shorter, longer = attrs->longer;
    if (shorter)
        longer = scaled(from_longer, shorter, from_shorter);
    else
        shorter = scaled(from_shorter, longer, from_longer);
    if (attrs->longer && longer > attrs->longer) {
        shorter = scaled(shorter, attrs->longer, longer);
        longer = attrs->longer;
    }
    return height < width ? (pfd_size){shorter, longer} : (pfd_size){longer, shorter};
}

static pfd_size size_for(const resize_attrs *attrs, int64_t height, int64_t width)
{
    if (attrs->size.size) return (pfd_size){attrs->size.data[0], attrs->size.data[1]};
    return keep_aspect_ratio(attrs, height, width);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const resize_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    int32_t filter;
    pfd_size size = {-1, -1};
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    PFD_TRY(check_sizes(args, err));
    PFD_TRY(pfd_filter_of(args->host, attrs->interpolation, attrs->antialias, &filter, err));
    if (attrs->size.size || (in->shape[0] > 0 && in->shape[1] > 0))
        size = size_for(attrs, in->shape[0], in->shape[1]);
    args->outputs[0] = pfd_image_type(in, size.height, size.width);
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const resize_attrs *attrs = args->attrs;
    pfd_resampler resampler = {.host = args->host, .scratch = args->scratch};
    int32_t filter;
    PFD_TRY(pfd_filter_of(args->host, attrs->interpolation, attrs->antialias, &filter, err));
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image image;
        PFD_TRY(pfd_image_with_pixels(args, 0, i, &image, err));
        pfd_size size = size_for(attrs, image.height, image.width);
        PFD_TRY(pfd_check_size(args, i, &size, err));
        pfd_image_region region = pfd_whole_image(&image);
        void *out = pfd_image_to_write(args, 0, i, size.height, size.width, err);
        if (!out) return err->status;
        PFD_TRY(pfd_resample(&resampler, filter, &region, NULL, out, size.height, size.width, err));
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_SIZE_ATTR(resize_attrs, size, "",
                  "(height, width) of the output; the aspect ratio is not kept."),
    PFD_INT_ATTR(resize_attrs, shorter, "0", 0, PFD_MOST_SIDE,
                 "The new length of the shorter side; the other side keeps the aspect ratio, "
                 "rounded down. torchvision's Resize(256) is shorter=256."),
    PFD_INT_ATTR(resize_attrs, longer, "0", 0, PFD_MOST_SIDE,
                 "The new length of the longer side; with shorter, its maximum: the image is then "
                 "as large as both attrs allow, as with torchvision's max_size."),
    PFD_CHOICE_ATTR(resize_attrs, interpolation, "bilinear", PFD_INTERPOLATIONS,
                    PFD_INTERPOLATION_DOC),
    PFD_BOOL_ATTR(resize_attrs, antialias, "true", PFD_ANTIALIAS_DOC),
};

static const pfd_port outputs[] = {
    {"out", "The images in another size, uint8; ragged if shorter or longer is given and the input "
            "is ragged."},
};

const pfd_op pfd_op_resize = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_byte_images, outputs),
    .name = "Resize",
    .doc = "Resamples images to size=(height, width), or to a size that keeps the aspect ratio. "
           "With antialias, which is the default, the result equals that of Pillow's "
           "Image.resize(), bit for bit. Each channel is resampled separately, also alpha.",
    PFD_OP_ATTRS(resize_attrs, attr_table),
};
