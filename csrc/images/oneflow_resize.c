/* OneFlow's names for filters, sizes and scales. */
#include "images/oneflow_resize.h"

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

void pfd_write_scale(const pfd_image *image, const pfd_size *size, int32_t height_first,
                     float scale[2])
{
    scale[!height_first] = (float)size->height / (float)image->height;
    scale[height_first] = (float)size->width / (float)image->width;
}

void pfd_write_size(const pfd_size *size, int32_t height_first, int32_t out[2])
{
    out[!height_first] = (int32_t)size->height;
    out[height_first] = (int32_t)size->width;
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
