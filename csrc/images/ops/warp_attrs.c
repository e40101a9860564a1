/* The attrs of ops that rotate, move, scale or shear images. */
#include "images/ops/warp_attrs.h"

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
