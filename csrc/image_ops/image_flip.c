/* ImageFlip: images mirrored as numbers say. */
#include "images/flip_pixels.h"
#include "images/image_attrs.h"
#include "parse/row_type.h"
#include "pyflowdata/op.h"

#include <inttypes.h>

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *code = &args->inputs[1];
    PFD_TRY(pfd_expect_images(args, 0, "in", PFD_ALL_DTYPES, err));
    if (code->dtype != PFD_INT8 || code->ndim > 1 || (code->ndim == 1 && code->shape[0] != 1))
        return pfd_refuse_rows(args, 1, "flip_code", "they must be one number of int8, as CoinFlip "
                               "makes it", err);
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

/* 0 to 3, a sum of PFD_FLIP_*; -1: unknown.  OneFlow writes 16 and 17 for 2 and 3. */
static int32_t flips_of(int8_t code)
{
    if (code >= 0 && code <= 3) return code;
    return code == 16 ? PFD_FLIP_VERTICAL
           : code == 17 ? PFD_FLIP_VERTICAL | PFD_FLIP_HORIZONTAL
                        : -1;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const int8_t *codes = (const void *)args->inputs[1]->data;
    for (int64_t i = 0; i < args->num_rows; i++) {
        int32_t flips = flips_of(codes[i]);
        if (flips < 0)
            return args->host->fail_row(err, i, -1, PFD_CORRUPT_DATA,
                                        "flip_code is %d; it must be 0 (as it is), 1 (left to "
                                        "right), 2 (top to bottom) or 3 (both)", codes[i]);
        PFD_TRY(pfd_flip_image(args, i, flips, err));
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {
    {"in", "Images of any dtype, (height, width, channels) or (height, width), also ragged."},
    {"flip_code", "int8, one number for each image: 0 leaves it as it is, 1 mirrors it left to "
                  "right, 2 top to bottom, 3 both; 16 and 17 are 2 and 3, as OneFlow writes them."},
};
static const pfd_port outputs[] = {
    {"out", "The images, some of them mirrored."},
};

const pfd_op pfd_op_image_flip = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "ImageFlip",
    .doc = "Mirrors images as a number for each of them says. "
           "This is OneFlow's image_flip.",
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};
