/* OneFlow's names for filters, sizes and scales. */
#include "images/ops/oneflow_resize.h"

#include "images/pixels/resample.h"

#include <math.h>

enum { BILINEAR, NEAREST_NEIGHBOR, NN, BICUBIC, AREA, AUTO };

int32_t pfd_oneflow_filter(int32_t interpolation, const pfd_image *image, const pfd_size *size)
{
    switch (interpolation) {
    case BILINEAR:
        return PFD_POINT_BILINEAR;
    case NEAREST_NEIGHBOR:
    case NN:
        return PFD_NEAREST;
    case BICUBIC:
        return PFD_POINT_BICUBIC;
    case AREA:
        return PFD_AREA;
    default:
        return size->height * size->width >= image->height * image->width ? PFD_POINT_BILINEAR
                                                                          : PFD_AREA;
    }
}

int64_t pfd_whole_pixels(double n)
{
    double whole = rint(n);
    return whole > 1 ? (int64_t)whole : 1;
}

const pfd_port pfd_sized_outputs[3] = {
    {"out", "The images in another size, ragged."},
    {"size", "int32 (2,): the new (height, width)."},
    {"scale", "float32 (2,): new height / old height, new width / old width."},
};

void pfd_infer_sized_images(const pfd_infer_args *args)
{
    args->outputs[0] = pfd_image_type(&args->inputs[0], -1, -1);
    args->outputs[1] = (pfd_row_type){.dtype = PFD_INT32, .ndim = 1, .shape = {2}};
    args->outputs[2] = (pfd_row_type){.dtype = PFD_FLOAT32, .ndim = 1, .shape = {2}};
}

void pfd_write_scale(const pfd_image *image, const pfd_size *size, float scale[2])
{
    scale[0] = (float)size->height / (float)image->height;
    scale[1] = (float)size->width / (float)image->width;
}

pfd_status pfd_resize_sized_row(const pfd_compute_args *args, pfd_resampler *resampler, int64_t i,
                                const pfd_image *image, const pfd_size *size, int32_t filter,
                                pfd_error *err)
{
    int32_t *new_size = (int32_t *)(void *)args->outputs[1]->data + 2 * i;
    pfd_image_region region = pfd_whole_image(image);
    PFD_TRY(pfd_check_size(args, i, size, err));
    uint8_t *out = pfd_image_to_write(args, 0, i, size->height, size->width, err);
    if (!out) return err->status;
    PFD_TRY(pfd_resample(resampler, filter, &region, NULL, out, size->height, size->width, err));
    new_size[0] = (int32_t)size->height;
    new_size[1] = (int32_t)size->width;
    pfd_write_scale(image, size, (float *)(void *)args->outputs[2]->data + 2 * i);
    return PFD_OK;
}
