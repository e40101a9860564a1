/* Rows of images, whether their tensor is dense or ragged. */
#include "images/pixels/image_rows.h"

#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <string.h>

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
