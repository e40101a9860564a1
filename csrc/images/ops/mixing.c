/* Groups of rows, their shares and their sums. */
#include "images/ops/mixing.h"

#include "core/convert.h"
#include "core/narrow_floats.h"
#include "core/rows.h"
#include "images/pixels/random_draws.h"
#include "parse/row_type.h"

#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

enum { draw_whether = 0, draw_share = 1000, block = 512 };

pfd_mix_group pfd_mix_group_at(const pfd_compute_args *args, const pfd_mix_attrs *attrs,
                               int64_t first)
{
    int64_t left = args->num_rows - first;
    pfd_mix_group out = {.first = first,
                         .size = left < attrs->group_size ? left : attrs->group_size,
                         .share = 1};
    if (out.size > 1 && pfd_bernoulli(args, first, draw_whether, attrs->probability))
        out.share = pfd_beta(args, first, draw_share, attrs->alpha);
    return out;
}

int64_t pfd_mix_partner(const pfd_mix_group *group, int64_t i)
{
    return i == group->first ? group->first + group->size - 1 : i - 1;
}

static void mix_float32(const float *restrict a, const float *restrict b, float share, float rest,
                        float *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float own = a[i] * share, others = b[i] * rest;
        out[i] = own + others;
    }
}

static void mix_float64(const double *restrict a, const double *restrict b, double share,
                        double rest, double *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double own = a[i] * share, others = b[i] * rest;
        out[i] = own + others;
    }
}

static void mix_narrow(int32_t dtype, const uint16_t *a, const uint16_t *b, float share, float rest,
                       uint16_t *out, int64_t n)
{
    float first[block], second[block], sum[block];
    for (int64_t i = 0, part; i < n; i += part) {
        part = n - i < block ? n - i : block;
        pfd_narrow_to_float32(dtype, a + i, first, part);
        pfd_narrow_to_float32(dtype, b + i, second, part);
        mix_float32(first, second, share, rest, sum, part);
        pfd_narrow_from_float32(dtype, sum, out + i, part);
    }
}

void pfd_mix_row(const pfd_compute_args *args, int32_t port, int64_t i, int64_t other, double share)
{
    const pfd_tensor *in = args->inputs[port];
    int64_t bytes = in->row_bytes, n = pfd_row_elements(&in->type);
    const void *a = in->data + i * bytes, *b = in->data + other * bytes;
    void *out = args->outputs[port]->data + i * bytes;
    float part = (float)share, rest = (float)(1 - share);
    if (share >= 1)
        memcpy(out, a, (size_t)bytes);
    else if (in->type.dtype == PFD_FLOAT32)
        mix_float32(a, b, part, rest, out, n);
    else if (in->type.dtype == PFD_FLOAT64)
        mix_float64(a, b, share, 1 - share, out, n);
    else
        mix_narrow(in->type.dtype, a, b, part, rest, out, n);
}

pfd_status pfd_check_labels(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *type = &args->inputs[1];
    if (type->ndim >= 1 && pfd_dtype_is_float(type->dtype)) return PFD_OK;
    return pfd_refuse_rows(args, 1, "labels",
                           "they must be vectors of floats, a number for each class: take OneHot "
                           "before",
                           err);
}
