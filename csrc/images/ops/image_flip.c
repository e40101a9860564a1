/* ImageFlip: images mirrored as numbers say. */
#include "core/op_shorthand.h"
#include "images/ops/flips.h"
#include "images/pixels/image_rows.h"

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    PFD_TRY(pfd_expect_images(args, 0, "in", PFD_ALL_DTYPES, err));
    PFD_TRY(pfd_expect_flip_code(args, 1, err));
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_rows; i++) {
        int32_t flips;
        PFD_TRY(pfd_flip_code_at(args, 1, i, &flips, err));
        PFD_TRY(pfd_flip_image(args, i, flips, err));
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {
    {"in", "Images of any dtype, (height, width, channels) or (height, width), also ragged."},
    {"flip_code", PFD_FLIP_CODE_DOC},
};
static const pfd_port outputs[] = {{"out", "The images, some of them mirrored."}};

const pfd_op pfd_op_image_flip = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "ImageFlip",
    .doc = "Mirrors each image as its flip_code says. This is OneFlow's image_flip.",
};
