/* CutMix: a rectangle of each image replaced by the same one of another row, and labels mixed. */
#include "core/op_shorthand.h"
#include "images/ops/mixing.h"
#include "images/pixels/image_rows.h"
#include "images/pixels/random_draws.h"
#include "pyflowdata/pyflowdata.h"

#include <math.h>
#include <string.h>

enum { draw_row = 1, draw_column }; /* draws of a group */

typedef struct cut_mix_attrs {
    pfd_mix_attrs mix;
    int32_t layout;
} cut_mix_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const cut_mix_attrs *attrs = args->attrs;
    PFD_TRY(pfd_expect_layout(args, 0, "x", attrs->layout, err));
    args->outputs[0] = args->inputs[0];
    args->outputs[1] = args->inputs[1];
    return pfd_check_labels(args, err);
}

typedef struct box {
    int64_t top, left, bottom, right;
} box;

/* Draws a box by torchvision's rule: around a uniform pixel, with the part 1 - share of the area,
 * cut off at the border of the image. */
static box draw_box(const pfd_compute_args *args, const pfd_mix_group *group, int64_t height,
                    int64_t width)
{
    int64_t y = pfd_uniform_integer(args, group->first, draw_row, height);
    int64_t x = pfd_uniform_integer(args, group->first, draw_column, width);
    double half = 0.5 * sqrt(1 - group->share);
    int64_t above = (int64_t)(half * (double)height), before = (int64_t)(half * (double)width);
    box out = {y - above, x - before, y + above, x + before};
    if (out.top < 0) out.top = 0;
    if (out.left < 0) out.left = 0;
    if (out.bottom > height) out.bottom = height;
    if (out.right > width) out.right = width;
    return out;
}

/* Writes row i, with the box of row `other`. */
static void paste(const pfd_compute_args *args, int64_t i, int64_t other, const box *from)
{
    const cut_mix_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    pfd_image_grid grid = pfd_image_grid_of(attrs->layout, in->type.shape);
    int64_t planes = attrs->layout == PFD_HWC ? 1 : grid.channels;
    int64_t bytes = pfd_dtype_size(in->type.dtype), pixel = grid.pixel_step * bytes;
    uint8_t *out = args->outputs[0]->data + i * in->row_bytes;
    const uint8_t *image = in->data + other * in->row_bytes;
    memcpy(out, in->data + i * in->row_bytes, (size_t)in->row_bytes);
    for (int64_t plane = 0; plane < planes; plane++)
        for (int64_t y = from->top; y < from->bottom; y++) {
            int64_t at =
                (plane * grid.channel_step + y * grid.row_step) * bytes + from->left * pixel;
            memcpy(out + at, image + at, (size_t)((from->right - from->left) * pixel));
        }
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const cut_mix_attrs *attrs = args->attrs;
    pfd_image_grid grid = pfd_image_grid_of(attrs->layout, args->inputs[0]->type.shape);
    pfd_mix_group group;
    (void)err;
    for (int64_t first = 0; first < args->num_rows; first += group.size) {
        box cut = {0};
        group = pfd_mix_group_at(args, &attrs->mix, first);
        if (group.share < 1 && grid.height > 0 && grid.width > 0)
            cut = draw_box(args, &group, grid.height, grid.width);
        double area = (double)((cut.bottom - cut.top) * (cut.right - cut.left));
        double share = area > 0 ? 1 - area / (double)(grid.height * grid.width) : 1;
        for (int64_t i = first; i < first + group.size; i++) {
            paste(args, i, pfd_mix_partner(&group, i), &cut);
            pfd_mix_row(args, 1, i, pfd_mix_partner(&group, i), share);
        }
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_MIX_ATTRS,
    PFD_LAYOUT_ATTR(cut_mix_attrs),
};

static const pfd_port inputs[] = {
    {"x", "Images of any dtype and one size."},
    {"labels", "Vectors of floats, a number for each class, as OneHot makes them."},
};
static const pfd_port outputs[] = {
    {"x", "Images of the type of the input."},
    {"labels", "The mixed labels: those of both images, weighted by the area of each image in the "
               "result."},
};

const pfd_op pfd_op_cut_mix = {
    PFD_ROW_OP(PFD_WHOLE_BATCH, inputs, outputs),
    .name = "CutMix",
    .doc = "Replaces a rectangle of each image by the same rectangle of another image, and mixes "
           "labels by area. Each group has one rectangle around a uniform pixel, with an area of 1 "
           "- share of the image, where share is drawn from Beta(alpha, alpha); the border of the "
           "image cuts it off. This is torchvision's rule, which draws one rectangle for a "
           "complete batch. " PFD_MIX_DOC,
    PFD_OP_ATTRS(cut_mix_attrs, attr_table),
};
