/* RandomFlip: images mirrored by chance. */
#include "core/op_shorthand.h"
#include "images/ops/flips.h"
#include "images/pixels/image_rows.h"
#include "images/pixels/random_draws.h"

enum { DRAW_HORIZONTAL, DRAW_VERTICAL };

typedef struct random_flip_attrs {
    double horizontal, vertical;
} random_flip_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    PFD_TRY(pfd_expect_images(args, 0, "in", PFD_ALL_DTYPES, err));
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const random_flip_attrs *attrs = args->attrs;
    for (int64_t i = 0; i < args->num_rows; i++) {
        int32_t flips = 0;
        if (pfd_bernoulli(args, i, DRAW_HORIZONTAL, attrs->horizontal))
            flips |= PFD_FLIP_HORIZONTAL;
        if (pfd_bernoulli(args, i, DRAW_VERTICAL, attrs->vertical)) flips |= PFD_FLIP_VERTICAL;
        PFD_TRY(pfd_flip_image(args, i, flips, err));
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOAT_ATTR(random_flip_attrs, horizontal, "0.5", 0, 1,
                   "Probability that an image is mirrored left to right."),
    PFD_FLOAT_ATTR(random_flip_attrs, vertical, "0", 0, 1,
                   "Probability that it is mirrored top to bottom, drawn independently."),
};

static const pfd_port outputs[] = {{"out", "The images, some of them mirrored."}};

const pfd_op pfd_op_random_flip = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_any_images, outputs),
    .name = "RandomFlip",
    .doc = "Mirrors images by chance: left to right, and also top to bottom if the attr vertical "
           "is above 0. The draws depend on seed, epoch, record and the name of the node. To let "
           "boxes follow, draw the flips with CoinFlip and give them to ImageFlip.",
    PFD_OP_ATTRS(random_flip_attrs, attr_table),
};
