/* ObjectBboxFlip: boxes that follow mirrored images. */
#include "core/op_shorthand.h"
#include "images/ops/flips.h"
#include "images/ops/object_rows.h"

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    return pfd_infer_flipped(args, 4, err);
}

static void swap(float *a, float *b)
{
    float kept = *a;
    *a = *b;
    *b = kept;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        int32_t flips;
        int64_t num_points;
        float *boxes = pfd_flip_points(args, row, 1, &flips, &num_points, err);
        if (!boxes) return err->status;
        for (int64_t i = 0; i < num_points / 2; i++) {
            float *box = &boxes[4 * i];
            if (flips & PFD_FLIP_HORIZONTAL) swap(&box[0], &box[2]);
            if (flips & PFD_FLIP_VERTICAL) swap(&box[1], &box[3]);
        }
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {
    {"in", "Boxes, float32 (None, 4): left, top, right and bottom pixel, as COCOReader returns "
           "them."},
    {"image_size", PFD_IMAGE_SIZE_DOC},
    {"flip_code", PFD_FLIP_CODE_DOC},
};
static const pfd_port outputs[] = {{"out", "The boxes in the mirrored images, float32."}};

const pfd_op pfd_op_object_bbox_flip = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "ObjectBboxFlip",
    .doc = "Mirrors boxes as ImageFlip mirrors their images. "
           "Right and bottom are the last pixels of a box: a column x becomes width - 1 - x. "
           "image_size is (height, width); OneFlow's op of this name takes it as (width, height).",
};
