/* ObjectSegmentationPolygonFlip: polygons that follow mirrored images. */
#include "core/op_shorthand.h"
#include "images/ops/flips.h"
#include "images/ops/object_rows.h"

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    return pfd_infer_flipped(args, 2, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        int32_t flips;
        int64_t num_points;
        if (!pfd_flip_points(args, row, 0, &flips, &num_points, err)) return err->status;
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {
    {"in", "Points of polygons, float32 (None, 2): x, y, as gt_segm of COCOReader."},
    {"image_size", PFD_IMAGE_SIZE_DOC},
    {"flip_code", PFD_FLIP_CODE_DOC},
};
static const pfd_port outputs[] = {{"out", "The points in the mirrored images, float32."}};

const pfd_op pfd_op_object_segmentation_polygon_flip = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "ObjectSegmentationPolygonFlip",
    .doc = "Mirrors polygons as ImageFlip mirrors their images. "
           "Points lie between pixels: x becomes width - x. image_size is (height, width); "
           "OneFlow's op of this name takes it as (width, height).",
};
