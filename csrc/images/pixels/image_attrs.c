/* Sizes that users give, and images that must have pixels. */
#include "images/pixels/image_attrs.h"

#include "core/convert.h"
#include "core/rows.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

pfd_status pfd_take_size(const pfd_host *host, const char *attr, pfd_list_int64 list,
                         pfd_size *out, pfd_error *err)
{
    if (list.size == 1)
        return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                               " is one number; it must be (height, width): %s=(%" PRId64
                               ", %" PRId64 ")", attr, list.data[0], list.data[0]);
    if (list.size != 2)
        return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                               " has %" PRId64 " numbers; it must be (height, width)", list.size);
    *out = (pfd_size){list.data[0], list.data[1]};
    return PFD_OK;
}

int64_t pfd_pixel_bytes(const pfd_row_type *images)
{
    return pfd_image_channels(images) * pfd_dtype_size(images->dtype);
}

pfd_status pfd_take_fill(const pfd_host *host, const char *attr, pfd_list_float64 list,
                         const pfd_row_type *images, uint8_t out[PFD_MOST_PIXEL_BYTES],
                         pfd_error *err)
{
    int64_t channels = pfd_image_channels(images), bytes = pfd_dtype_size(images->dtype);
    if (list.size != 1 && list.size != channels)
        return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                               " has %" PRId64 " numbers; it must have one, or one for each of "
                               "the %" PRId64 " channels", list.size, channels);
    for (int64_t c = 0; c < channels; c++) {
        const double *value = &list.data[list.size == 1 ? 0 : c];
        if (images->dtype < PFD_FLOAT16 && !pfd_is_exact(*value, images->dtype))
            return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                                   " has %g; the images are %s, which holds %s", *value,
                                   pfd_dtype_name(images->dtype),
                                   pfd_dtype_limits(images->dtype));
        int64_t number; /* aligned for any dtype */
        (void)pfd_convert(PFD_FLOAT64, value, images->dtype, &number, 1, PFD_OVERFLOW_WRAP);
        memcpy(out + c * bytes, &number, (size_t)bytes);
    }
    return PFD_OK;
}

pfd_status pfd_image_with_pixels(const pfd_compute_args *args, int32_t input, int64_t i,
                                 pfd_image *out, pfd_error *err)
{
    pfd_row row;
    pfd_row_at(args->inputs[input], i, &row);
    *out = pfd_image_at(args->inputs[input], i);
    if (out->height > 0 && out->width > 0) return PFD_OK;
    return args->host->fail_row(err, i, -1, PFD_CORRUPT_DATA,
                                "the image is %" PRId64 " x %" PRId64
                                " (height x width): it has no pixels",
                                row.shape[0], row.shape[1]);
}

pfd_status pfd_check_size(const pfd_compute_args *args, int64_t i, const pfd_size *size,
                          pfd_error *err)
{
    if (size->height <= PFD_MOST_SIDE && size->width <= PFD_MOST_SIDE) return PFD_OK;
    return args->host->fail_row(err, i, -1, PFD_CORRUPT_DATA,
                                "the image would become %" PRId64 " x %" PRId64
                                " (height x width); at most %d are allowed on a side",
                                size->height, size->width, PFD_MOST_SIDE);
}

pfd_image_part pfd_whole_image(const pfd_image *image)
{
    return (pfd_image_part){.data = image->data,
                            .height = image->height,
                            .width = image->width,
                            .channels = image->channels,
                            .stride = image->width * image->channels};
}

pfd_image_part pfd_image_window(const pfd_image *image, const pfd_window *window)
{
    pfd_image_part out = pfd_whole_image(image);
    out.data += window->top * out.stride + window->left * out.channels;
    out.height = window->height;
    out.width = window->width;
    return out;
}
