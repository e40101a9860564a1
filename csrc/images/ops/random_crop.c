/* RandomCrop: a part of one size from a random place of each image. */
#include "core/op_shorthand.h"
#include "images/ops/crops.h"
#include "images/pixels/random_draws.h"

#include <inttypes.h>

enum { DRAW_TOP, DRAW_LEFT };

typedef struct random_crop_attrs {
    pfd_list_int64 size, padding;
    int32_t pad_if_needed;
    pfd_list_float64 fill;
    int32_t padding_mode;
} random_crop_attrs;

/* The attrs, checked. */
typedef struct crop_plan {
    pfd_size size;
    pfd_padding padding;
    pfd_border border;
    int32_t pad_if_needed;
} crop_plan;

static pfd_status make_plan(const pfd_host *host, const random_crop_attrs *attrs,
                            const pfd_row_type *in, crop_plan *out, pfd_error *err)
{
    out->pad_if_needed = attrs->pad_if_needed;
    out->border.kind = attrs->padding_mode;
    PFD_TRY(pfd_take_size(host, "size", attrs->size, &out->size, err));
    PFD_TRY(pfd_take_padding(host, "padding", attrs->padding, &out->padding, err));
    return pfd_take_fill(host, "fill", attrs->fill, in, out->border.fill, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    crop_plan plan;
    PFD_TRY(pfd_expect_images(args, 0, "in", PFD_ALL_DTYPES, err));
    PFD_TRY(make_plan(args->host, args->attrs, &args->inputs[0], &plan, err));
    args->outputs[0] = pfd_image_type(&args->inputs[0], plan.size.height, plan.size.width);
    return PFD_OK;
}

/* Rows or columns of a padded image: the number before the image, and the number of all. */
typedef struct extent {
    int64_t before, all;
} extent;

static extent padded(const crop_plan *plan, int64_t side, int64_t before, int64_t after,
                     int64_t crop)
{
    extent out = {before, before + side + after};
    if (plan->pad_if_needed && out.all < crop) {
        out.before += crop - out.all;
        out.all += 2 * (crop - out.all);
    }
    return out;
}

static pfd_status place_window(const pfd_compute_args *args, const crop_plan *plan, int64_t i,
                               const pfd_input_image *image, pfd_window *out, pfd_error *err)
{
    pfd_size size = plan->size;
    extent rows = padded(plan, image->height, plan->padding.top, plan->padding.bottom,
                         size.height);
    extent columns = padded(plan, image->width, plan->padding.left, plan->padding.right,
                            size.width);
    if (rows.all < size.height || columns.all < size.width)
        return args->host->fail_row(err, i, -1, PFD_CORRUPT_DATA,
                                    "the image is %" PRId64 " x %" PRId64 " with its padding; "
                                    "size is %" PRId64 " x %" PRId64 " (height x width): set "
                                    "pad_if_needed=True, or resize it first",
                                    rows.all, columns.all, size.height, size.width);
    int64_t top = pfd_uniform_integer(args, i, DRAW_TOP, rows.all - size.height + 1);
    int64_t left = pfd_uniform_integer(args, i, DRAW_LEFT, columns.all - size.width + 1);
    *out = (pfd_window){top - rows.before, left - columns.before, size.height, size.width};
    return PFD_OK;
}

static pfd_status crop(const pfd_compute_args *args, const pfd_producer *decoder, pfd_error *err)
{
    const pfd_row_type *type = &args->outputs[0]->type; /* of images of another size */
    crop_plan plan;
    PFD_TRY(make_plan(args->host, args->attrs, type, &plan, err));
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_input_image image;
        pfd_window window;
        PFD_TRY(pfd_open_image(args, decoder, i, &image, err));
        PFD_TRY(place_window(args, &plan, i, &image, &window, err));
        void *out = pfd_image_to_write(args, 0, i, plan.size.height, plan.size.width, err);
        if (!out) return err->status;
        PFD_TRY(pfd_write_window(&image, &window, &plan.border, out, err));
    }
    return PFD_OK;
}

PFD_CROP_COMPUTE(random_crop)

static const pfd_attr attr_table[] = {
    PFD_SIZE_ATTR(random_crop_attrs, size, NULL, "(height, width) of the output."),
    PFD_PADDING_ATTR(random_crop_attrs, padding, "", "Pixels to put around an image before"),
    PFD_BOOL_ATTR(random_crop_attrs, pad_if_needed, "false",
                  "Whether an image that is still too small is padded on both sides with as many "
                  "pixels as it lacks; otherwise it is an error of its row."),
    PFD_BORDER_ATTRS(random_crop_attrs),
};

static const pfd_port outputs[] = {{"out", "Images of one size, of the same dtype."}};

const pfd_op pfd_op_random_crop = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_any_images, outputs),
    .name = "RandomCrop",
    .doc = "Cuts a part of one size out of each image, at a random place. "
           "The rule is that of torchvision: the image is padded, then each place where the part "
           "fits is as likely as the others. The draws depend on seed, epoch, record and the name "
           "of the node.",
    PFD_OP_ATTRS(random_crop_attrs, attr_table),
};
