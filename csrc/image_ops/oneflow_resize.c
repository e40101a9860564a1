/* OneFlow's names for filters, sizes and scales. */
#include "image_ops/oneflow_resize.h"

#include "images/interpolation.h"

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

void pfd_write_size(const pfd_size *size, int32_t out[2])
{
    out[0] = (int32_t)size->height;
    out[1] = (int32_t)size->width;
}

void pfd_write_scale(const pfd_image *image, const pfd_size *size, float scale[2])
{
    scale[0] = (float)size->height / (float)image->height;
    scale[1] = (float)size->width / (float)image->width;
}

pfd_status pfd_resize_row(const pfd_compute_args *args, pfd_resampler *resampler, int64_t i,
                          const pfd_image *image, const pfd_size *size, int32_t filter,
                          pfd_error *err)
{
    PFD_TRY(pfd_check_size(args, i, size, err));
    pfd_image_part part = pfd_whole_image(image);
    uint8_t *out = pfd_image_to_write(args, 0, i, size->height, size->width, err);
    if (!out) return err->status;
    return pfd_resample(resampler, filter, &part, NULL, out, size->height, size->width, err);
}
