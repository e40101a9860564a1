/* Grayscale: the grey of each pixel. */
#include "core/op_shorthand.h"
#include "images/ops/each_image.h"
#include "images/pixels/random_draws.h"

typedef struct grayscale_attrs {
    int64_t channels;
    double probability;
} grayscale_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const grayscale_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    PFD_TRY(pfd_infer_same_colours(args, err));
    if (attrs->channels == 2)
        return args->host->fail_attr(err, "channels", NULL, PFD_INVALID_ARGUMENT,
                                     " = 2; it must be 1 or 3");
    args->outputs[0].ndim = 3;
    args->outputs[0].shape[2] = attrs->channels;
    if (attrs->probability < 1 && (in->ndim < 3 || in->shape[2] != attrs->channels))
        return args->host->fail_attr(err, "probability", NULL, PFD_INVALID_ARGUMENT,
                                     " = %g; below 1 all images must have the same channels: set "
                                     "channels to those of the input",
                                     attrs->probability);
    return PFD_OK;
}

static void make_grey(const pfd_image *in, int64_t channels, uint8_t *out)
{
    int64_t pixels = in->height * in->width;
    if (in->channels == channels)
        pfd_grey_image(in, out);
    else if (channels == 1)
        pfd_grey_of(in->data, pixels, out);
    else
        for (int64_t i = 0; i < 3 * pixels; i++) out[i] = in->data[i / 3];
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const grayscale_attrs *attrs = args->attrs;
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image in = pfd_image_at(args->inputs[0], i);
        if (!pfd_bernoulli(args, i, 0, attrs->probability)) {
            PFD_TRY(pfd_image_pass(args, 0, 0, i, err));
            continue;
        }
        uint8_t *out = pfd_image_to_write(args, 0, i, in.height, in.width, err);
        if (!out) return err->status;
        if (in.height > 0 && in.width > 0) make_grey(&in, attrs->channels, out);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(grayscale_attrs, channels, "1", 1, 3,
                 "The number of channels of the output: 1, or 3 equal ones."),
    PFD_PROBABILITY_ATTR(grayscale_attrs),
};

static const pfd_port inputs[] = {
    {"in", "RGB images, uint8 (height, width, 3), or images with 1 channel; also ragged."},
};
static const pfd_port outputs[] = {{"out", "Images, uint8 (height, width, channels)."}};

const pfd_op pfd_op_grayscale = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "Grayscale",
    .doc = "Makes RGB images grey: 0.299 R + 0.587 G + 0.114 B, as Pillow and torchvision do. "
           "Factors have 16 bits, the result is rounded. With probability=0.1 and channels=3 it is "
           "torchvision's RandomGrayscale.",
    PFD_OP_ATTRS(grayscale_attrs, attr_table),
};
