/* ObjectSegmentationPolygonScale: polygons that follow resized images. */
#include "images/ops/object_rows.h"
#include "pyflowdata/op.h"

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    return pfd_infer_scaled(args, 2, err);
}

static const pfd_port inputs[] = {
    {"in", "Points of polygons, float32 (None, 2): x, y, as gt_segm of COCOReader."},
    {"scale", PFD_SCALE_DOC},
};
static const pfd_port outputs[] = {{"out", "The points in the resized images, float32."}};

const pfd_op pfd_op_object_segmentation_polygon_scale = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "ObjectSegmentationPolygonScale",
    .doc = "Scales polygons as their images were resized. "
           "x is multiplied by the scale of the width, y by that of the height. scale is (height, "
           "width); OneFlow's op of this name takes (width, height).",
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = pfd_scale_points,
};
