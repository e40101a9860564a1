/* GaussianBlur: images made soft, by a fixed or a random amount. */
#include "images/pixels/blur.h"
#include "images/pixels/each_image.h"
#include "images/pixels/random_draws.h"
#include "pyflowdata/op.h"

#include <inttypes.h>

typedef struct gaussian_blur_attrs {
    pfd_list_int64 kernel_size;
    pfd_list_float64 sigma;
    double probability;
} gaussian_blur_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const gaussian_blur_attrs *attrs = args->attrs;
    const pfd_list_int64 *size = &attrs->kernel_size;
    const pfd_list_float64 *sigma = &attrs->sigma;
    args->outputs[0] = args->inputs[0];
    if (size->size != 1 && size->size != 2)
        return args->host->fail_attr(err, "kernel_size", NULL, PFD_INVALID_ARGUMENT,
                                     " has %" PRId64 " numbers; it must be one number, or height "
                                     "and width",
                                     size->size);
    for (int64_t i = 0; i < size->size; i++)
        if (size->data[i] % 2 == 0)
            return args->host->fail_attr(err, "kernel_size", NULL, PFD_INVALID_ARGUMENT,
                                         " has the number %" PRId64 "; it must be odd",
                                         size->data[i]);
    if ((sigma->size != 1 && sigma->size != 2) || sigma->data[sigma->size - 1] < sigma->data[0])
        return args->host->fail_attr(err, "sigma", NULL, PFD_INVALID_ARGUMENT,
                                     " must be one number, or minimum and maximum");
    return pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err);
}

static pfd_status change(const pfd_compute_args *args, int64_t row, const pfd_image *in,
                         uint8_t *out, pfd_room *room, pfd_error *err)
{
    const gaussian_blur_attrs *attrs = args->attrs;
    const pfd_list_int64 *size = &attrs->kernel_size;
    const pfd_list_float64 *sigma = &attrs->sigma;
    pfd_blur blur = {
        .height = (int32_t)size->data[0],
        .width = (int32_t)size->data[size->size - 1],
        .sigma = pfd_uniform_between(args, row, 1, sigma->data[0], sigma->data[sigma->size - 1]),
    };
    return pfd_gaussian_blur(args, in, &blur, out, room, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const gaussian_blur_attrs *attrs = args->attrs;
    return pfd_each_image(args, attrs->probability, change, err);
}

static const pfd_attr attr_table[] = {
    PFD_INTS_ATTR(gaussian_blur_attrs, kernel_size, NULL, 1, PFD_MAX_BLUR,
                  "Size of the kernel in pixels: one odd number, or height and width."),
    PFD_FLOATS_ATTR(gaussian_blur_attrs, sigma, "0.1,2.0", 1e-3, 1e3,
                    "Standard deviation in pixels: one number, or [min, max], between which "
                    "one is drawn for each record."),
    PFD_PROBABILITY_ATTR(gaussian_blur_attrs),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 (height, width, channels), also ragged."},
};

static const pfd_port outputs[] = {{"out", "Images of the type of the input."}};

const pfd_op pfd_op_gaussian_blur = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "GaussianBlur",
    .doc = "Blurs images with a Gaussian kernel, as torchvision does. "
           "Beyond its border an image is mirrored, without repeating the pixels of the border. "
           "Weights have 16 bits; results differ by one at most from those of float arithmetic.",
    PFD_OP_ATTRS(gaussian_blur_attrs, attr_table),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};
