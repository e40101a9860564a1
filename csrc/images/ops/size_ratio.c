/* SizeRatio: how much larger each image became. */
#include "core/op_shorthand.h"
#include "images/ops/object_rows.h"
#include "parse/row_type.h"

static int32_t is_size(const pfd_row_type *type)
{
    return type->ndim == 1 && type->shape[0] == 2 &&
           (type->dtype == PFD_INT32 || type->dtype == PFD_INT64);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    static const char *const names[] = {"before", "after"};
    for (int32_t i = 0; i < 2; i++) {
        const pfd_row_type *type = &args->inputs[i];
        if (!is_size(type) && type->ndim != 2 && type->ndim != 3)
            return pfd_refuse_rows(args, i, names[i],
                                   "they must be images, or their sizes: int32 or int64 (2,)", err);
        if (!is_size(type)) PFD_TRY(pfd_expect_images(args, i, names[i], PFD_ALL_DTYPES, err));
    }
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT32, .ndim = 1, .shape = {2}};
    return PFD_OK;
}

static pfd_status size_of(const pfd_compute_args *args, int32_t input, int64_t row, pfd_size *out,
                          pfd_error *err)
{
    pfd_image image;
    if (is_size(&args->inputs[input]->type)) return pfd_image_size_at(args, input, row, out, err);
    PFD_TRY(pfd_image_with_pixels(args, input, row, &image, err));
    *out = (pfd_size){image.height, image.width};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    float *out = (void *)args->outputs[0]->data;
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_size before, after;
        PFD_TRY(size_of(args, 0, row, &before, err));
        PFD_TRY(size_of(args, 1, row, &after, err));
        out[2 * row] = (float)((double)after.height / (double)before.height);
        out[2 * row + 1] = (float)((double)after.width / (double)before.width);
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {
    {"before", "Images, or their sizes, int32 or int64 (2,), as image_size of COCOReader."},
    {"after", "The same images, or their sizes, after Resize."},
};
static const pfd_port outputs[] = {
    {"out", "float32 (2,): height and width after Resize, divided by those before."},
};

const pfd_op pfd_op_size_ratio = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "SizeRatio",
    .doc = "Computes the scale by which images were resized, for the boxes and polygons in them. "
           "The quotient is computed in float64 and rounded once.",
};
