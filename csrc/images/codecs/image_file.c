/* Memory for the pixels of an image file, and their channels. */
#include "images/codecs/image_file.h"

#include <inttypes.h>

int32_t pfd_color_channels(int32_t color_space)
{
    return color_space == PFD_COLOR_GRAY ? 1 : color_space == PFD_COLOR_RGBA ? 4 : 3;
}

pfd_status pfd_make_pixels(const pfd_image_file *file, int64_t height, int64_t row_bytes,
                           pfd_pixels *out, pfd_error *err)
{
    if (out->data) return PFD_OK;
    out->stride = row_bytes;
    out->data = file->host->alloc(file->scratch, height * row_bytes);
    if (out->data) return PFD_OK;
    return file->host->fail_row(err, file->row, -1, PFD_OUT_OF_MEMORY,
                                "no memory for an image of %" PRId64 " bytes", height * row_bytes);
}
