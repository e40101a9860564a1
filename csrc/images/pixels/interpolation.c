/* Which filter the attrs of an op mean. */
#include "images/pixels/interpolation.h"

pfd_status pfd_filter_of(const pfd_host *host, int32_t interpolation, int32_t antialias,
                         int32_t *filter, pfd_error *err)
{
    *filter = interpolation;
    if (antialias || interpolation == PFD_NEAREST || interpolation == PFD_AREA) return PFD_OK;
    *filter = interpolation == PFD_BILINEAR ? PFD_POINT_BILINEAR : PFD_POINT_BICUBIC;
    if (interpolation != PFD_LANCZOS) return PFD_OK;
    return host->fail_attr(err, "antialias", NULL, PFD_INVALID_ARGUMENT,
                           " is false, and interpolation='lanczos' has no such form: take "
                           "'bicubic', or antialias=True");
}
