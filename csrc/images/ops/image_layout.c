/* Images whose channels come first or last. */
#include "images/ops/image_layout.h"

#include "images/pixels/image_rows.h"
#include "parse/row_type.h"

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
