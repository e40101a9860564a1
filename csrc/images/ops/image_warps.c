/* Takes the attrs of ops that rotate, move, scale or shear images, and rotates images. */
#include "images/ops/image_warps.h"

#include "images/pixels/affine_warp.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

pfd_status pfd_take_warp_style(const pfd_host *host, const pfd_warp_attrs *attrs,
                               const pfd_row_type *images, pfd_warp_style *out, pfd_error *err)
{
    uint8_t pixel[PFD_MOST_PIXEL_BYTES] = {0};
    PFD_TRY(pfd_take_fill(host, "fill", attrs->fill, images, pixel, err));
    out->bilinear = attrs->interpolation;
    memcpy(out->fill, pixel, sizeof out->fill);
    return PFD_OK;
}

/* ---- Rotation -------------------------------------------------------------------------------- */

pfd_status pfd_take_degrees(const pfd_host *host, const char *attr, pfd_list_float64 list,
                            double out[2], pfd_error *err)
{
    if (list.size != 1 && list.size != 2)
        return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                               " has %" PRId64 " numbers; it must have one, n for (-n, n), or two, "
                               "the lowest and the highest", list.size);
    out[0] = list.size == 1 ? -list.data[0] : list.data[0];
    out[1] = list.data[list.size - 1];
    if (out[0] <= out[1]) return PFD_OK;
    return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                           " is [%g, %g]; the lowest number comes first", out[0], out[1]);
}

pfd_status pfd_infer_rotated(const pfd_infer_args *args, const pfd_warp_attrs *attrs,
                             int32_t expand, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    pfd_warp_style style;
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    PFD_TRY(pfd_take_warp_style(args->host, attrs, in, &style, err));
    args->outputs[0] = expand ? pfd_image_type(in, -1, -1) : *in;
    return PFD_OK;
}

const pfd_port pfd_rotated_out[1] = {{"out", "The rotated images, uint8."}};

/* The size, in whole pixels, that holds the whole image of [0, height] x [0, width] after the
 * warp. */
static pfd_size size_of_all(const pfd_affine *places, double height, double width)
{
    double x[] = {0, width * places->xx, width * places->xx, 0};
    double y[] = {0, width * places->yx, width * places->yx, 0};
    double least_x = INFINITY, most_x = -INFINITY, least_y = INFINITY, most_y = -INFINITY;
    if (places->xx == 0) return (pfd_size){(int64_t)width, (int64_t)height}; /* a quarter turn */
    for (int corner = 0; corner < 4; corner++) {
        double down = corner < 2 ? 0 : height;
        double right_part = down * places->xy, down_part = down * places->yy;
        double at_x = x[corner] + right_part + places->x0;
        double at_y = y[corner] + down_part + places->y0;
        least_x = fmin(least_x, at_x);
        most_x = fmax(most_x, at_x);
        least_y = fmin(least_y, at_y);
        most_y = fmax(most_y, at_y);
    }
    return (pfd_size){(int64_t)(ceil(most_y) - floor(least_y)),
                      (int64_t)(ceil(most_x) - floor(least_x))};
}

pfd_status pfd_rotate_image(const pfd_compute_args *args, int64_t i, double degrees,
                            int32_t expand, const pfd_warp_style *style, pfd_error *err)
{
    pfd_image image;
    PFD_TRY(pfd_image_with_pixels(args, 0, i, &image, err));
    double height = (double)image.height, width = (double)image.width;
    pfd_affine places = pfd_affine_of(&(pfd_affine_motion){
        .angle = -degrees, .scale = 1, .centre_x = width / 2, .centre_y = height / 2});
    pfd_size size = {image.height, image.width};
    PFD_TRY(pfd_check_size(args, i, &size, err));
    if (expand) {
        size = size_of_all(&places, height, width);
        PFD_TRY(pfd_check_size(args, i, &size, err));
        double more_x = ((double)size.width - width) / 2;
        double more_y = ((double)size.height - height) / 2;
        double x_by_x = places.xx * more_x, x_by_y = places.xy * more_y;
        double y_by_x = places.yx * more_x, y_by_y = places.yy * more_y;
        places.x0 -= x_by_x + x_by_y;
        places.y0 -= y_by_x + y_by_y;
    }
    pfd_image_region region = pfd_whole_image(&image);
    uint8_t *out = pfd_image_to_write(args, 0, i, size.height, size.width, err);
    if (!out) return err->status;
    pfd_affine_warp(&region, &places, style->bilinear, style->fill, out, size.height, size.width);
    return PFD_OK;
}
