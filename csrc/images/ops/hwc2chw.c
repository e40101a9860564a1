/* HWC2CHW: the channels of images one after the other. */
#include "core/cpu.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "images/pixels/image_rows.h"
#include "pyflowdata/pyflowdata.h"

#include <string.h>

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    PFD_TRY(pfd_expect_images(args, 0, "in", PFD_ALL_DTYPES, err));
    args->outputs[0] = (pfd_row_type){
        .dtype = in->dtype, .ndim = 3,
        .shape = {pfd_image_channels(in), in->shape[0], in->shape[1]}};
    return PFD_OK;
}

/* Takes elements c, c + channels ... of n pixels. */
PFD_INLINE void take_channel(const uint8_t *in, uint8_t *out, int64_t n, int64_t channels,
                             size_t bytes)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * (int64_t)bytes, in + i * channels * (int64_t)bytes, bytes);
}

static void take_channels(const uint8_t *in, uint8_t *out, int64_t n, int64_t channels,
                          int64_t bytes)
{
    for (int64_t c = 0; c < channels; c++, in += bytes, out += n * bytes) {
        if (bytes == 1 && channels == 3)
            take_channel(in, out, n, 3, 1);
        else if (bytes == 1)
            take_channel(in, out, n, channels, 1);
        else if (bytes == 2)
            take_channel(in, out, n, channels, 2);
        else if (bytes == 4)
            take_channel(in, out, n, channels, 4);
        else
            take_channel(in, out, n, channels, 8);
    }
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const pfd_tensor *in = args->inputs[0];
    int64_t bytes = pfd_dtype_size(in->type.dtype);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(in, i, &row);
        int64_t channels = pfd_image_channels(&in->type);
        int64_t shape[] = {channels, row.shape[0], row.shape[1]};
        if (channels == 1 && args->outputs[0]->is_ragged) {
            if (!pfd_row_points_at(args, 0, i, row.data, shape, err)) return err->status;
            continue;
        }
        void *out = pfd_row_to_write(args, 0, i, shape, err);
        if (!out) return err->status;
        take_channels(row.data, out, row.num_elements / channels, channels, bytes);
    }
    return PFD_OK;
}

static const pfd_port outputs[] = {{"out", "The same numbers as (channels, height, width)."}};

const pfd_op pfd_op_hwc2chw = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_KEEPS_EQUAL_ROWS, pfd_any_images, outputs),
    .name = "HWC2CHW",
    .doc = "Reorders images from (height, width, channels) to (channels, height, width). This is "
           "the order of torchvision's ToTensor, without its scaling; CropMirrorNormalize and "
           "Normalize reorder and scale.",
};
