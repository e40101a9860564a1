/* Padding as users write it. */
#include "images/ops/padding.h"

#include <inttypes.h>

pfd_status pfd_take_padding(const pfd_host *host, const char *attr, pfd_list_int64 list,
                            pfd_padding *out, pfd_error *err)
{
    const int64_t *n = list.data;
    *out = (pfd_padding){0};
    if (list.size == 1) *out = (pfd_padding){n[0], n[0], n[0], n[0]};
    if (list.size == 2) *out = (pfd_padding){n[0], n[1], n[0], n[1]};
    if (list.size == 4) *out = (pfd_padding){n[0], n[1], n[2], n[3]};
    if (list.size <= 2 || list.size == 4) return PFD_OK;
    return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                           " has %" PRId64 " numbers; it must have one, two for (top and bottom, "
                           "left and right), or four for (top, left, bottom, right)", list.size);
}
