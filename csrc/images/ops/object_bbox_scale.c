/* ObjectBboxScale: boxes that follow resized images. */
#include "images/ops/object_rows.h"
#include "pyflowdata/op.h"

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    return pfd_infer_scaled(args, 4, err);
}

static const pfd_port inputs[] = {
    {"in", "Boxes, float32 (None, 4): left, top, right, bottom."},
    {"scale", PFD_SCALE_DOC},
};
static const pfd_port outputs[] = {{"out", "The boxes in the resized images, float32."}};

const pfd_op pfd_op_object_bbox_scale = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "ObjectBboxScale",
    .doc = "Scales boxes as their images were resized. "
           "Left and right are multiplied by the scale of the width, top and bottom by that of the "
           "height. scale is (height, width); OneFlow's op of this name takes (width, height).",
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = pfd_scale_points,
};
