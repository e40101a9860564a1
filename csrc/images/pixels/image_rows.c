/* Images as rows of a blob, and checks of their sizes and colours. */
#include "images/pixels/image_rows.h"

#include "core/convert.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

const pfd_port pfd_any_images[1] = {
    {"in", "Images of any dtype, (height, width, channels) or (height, width), also ragged."}};
const pfd_port pfd_byte_images[1] = {
    {"in", "Images, uint8 (height, width, channels) or (height, width), also ragged."}};
const pfd_port pfd_colour_images[1] = {
    {"in", "Images, uint8 (height, width, channels) with 1 or 3 channels, also ragged."}};
const pfd_port pfd_same_images[1] = {{"out", "Images of the type of the input."}};

int64_t pfd_image_channels(const pfd_row_type *type)
{
    return type->ndim == 3 ? type->shape[2] : 1;
}

pfd_status pfd_expect_images(const pfd_infer_args *args, int32_t input, const char *name,
                             uint32_t dtypes, pfd_error *err)
{
    const pfd_row_type *type = &args->inputs[input];
    int64_t channels = pfd_image_channels(type);
    if ((type->ndim != 2 && type->ndim != 3) || channels < 1 || channels > PFD_MAX_CHANNELS)
        return pfd_refuse_rows(args, input, name,
                               "they must be images, (height, width, channels) or (height, width) "
                               "with 1 to 4 channels: decode files with ImageDecoder",
                               err);
    if (dtypes >> type->dtype & 1u) return PFD_OK;
    char expected[128] = "images must be of";
    for (int32_t dtype = PFD_BOOL; dtype <= PFD_BFLOAT16; dtype++) {
        if (!(dtypes >> dtype & 1u)) continue;
        strncat(expected, expected[sizeof "images must be of" - 1] ? " or " : " ",
                sizeof expected - strlen(expected) - 1);
        strncat(expected, pfd_dtype_name(dtype), sizeof expected - strlen(expected) - 1);
    }
    return pfd_refuse_rows(args, input, name, expected, err);
}

pfd_row_type pfd_image_type(const pfd_row_type *in, int64_t height, int64_t width)
{
    pfd_row_type type = *in;
    type.shape[0] = height;
    type.shape[1] = width;
    return type;
}

pfd_image pfd_image_at(const pfd_tensor *tensor, int64_t i)
{
    pfd_row row;
    pfd_row_at(tensor, i, &row);
    if (!row.num_elements) return (pfd_image){.channels = pfd_image_channels(&tensor->type)};
    return (pfd_image){.data = row.data,
                       .height = row.shape[0],
                       .width = row.shape[1],
                       .channels = pfd_image_channels(&tensor->type)};
}

void *pfd_image_to_write(const pfd_compute_args *args, int32_t output, int64_t i, int64_t height,
                         int64_t width, pfd_error *err)
{
    int64_t shape[PFD_MAX_DIMS] = {height, width};
    shape[2] = pfd_image_channels(&args->outputs[output]->type);
    return pfd_row_to_write(args, output, i, shape, err);
}

pfd_status pfd_image_pass(const pfd_compute_args *args, int32_t input, int32_t output, int64_t i,
                          pfd_error *err)
{
    const pfd_tensor *in = args->inputs[input], *out = args->outputs[output];
    if (out->is_ragged && in->is_ragged) {
        out->rows[i] = in->rows[i];
        return PFD_OK;
    }
    pfd_row row;
    pfd_row_at(in, i, &row);
    if (out->is_ragged)
        return pfd_row_points_at(args, output, i, row.data, row.shape, err) ? PFD_OK : err->status;
    memcpy(out->data + i * out->row_bytes, row.data, (size_t)out->row_bytes);
    return PFD_OK;
}

/* ---- Sizes that users give, and images that must have pixels --------------------------------- */

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
        if (!pfd_dtype_is_float(images->dtype) && !pfd_is_exact(*value, images->dtype))
            return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                                   " has %g; the images are %s, which holds %s", *value,
                                   pfd_dtype_name(images->dtype),
                                   pfd_dtype_limits(images->dtype));
        int64_t number; /* union member that aligns for any dtype */
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

pfd_image_region pfd_whole_image(const pfd_image *image)
{
    return (pfd_image_region){.data = image->data,
                              .height = image->height,
                              .width = image->width,
                              .channels = image->channels,
                              .stride = image->width * image->channels};
}

/* ---- Images whose channels come first or last ------------------------------------------------ */

pfd_image_grid pfd_image_grid_of(int32_t layout, const int64_t *shape)
{
    if (layout == PFD_HWC)
        return (pfd_image_grid){.channels = shape[2],
                                .height = shape[0],
                                .width = shape[1],
                                .channel_step = 1,
                                .row_step = shape[1] * shape[2],
                                .pixel_step = shape[2]};
    return (pfd_image_grid){.channels = shape[0],
                            .height = shape[1],
                            .width = shape[2],
                            .channel_step = shape[1] * shape[2],
                            .row_step = shape[2],
                            .pixel_step = 1};
}

pfd_status pfd_expect_layout(const pfd_infer_args *args, int32_t input, const char *name,
                             int32_t layout, pfd_error *err)
{
    const pfd_row_type *rows = &args->inputs[input];
    int64_t channels = rows->ndim == 3 ? rows->shape[layout == PFD_HWC ? 2 : 0] : 0;
    if (channels >= 1 && channels <= PFD_MAX_CHANNELS) return PFD_OK;
    return pfd_refuse_rows(args, input, name,
                           layout == PFD_HWC
                               ? "with layout='HWC' they must be (height, width, channels) with 1 "
                                 "to 4 channels"
                               : "with layout='CHW' they must be (channels, height, width) with 1 "
                                 "to 4 channels: images of bytes have layout='HWC'",
                           err);
}
