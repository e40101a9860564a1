/* The weights of filters, as Pillow makes them: in float64, normalised to a sum of one, rounded. */
#include "images/pixels/resample_taps.h"

#include "images/pixels/interpolation.h"
#include "images/pixels/sin_pi.h"

#include <math.h>
#include <string.h>

/* The filters, which are zero from `support` on. */
static double weight_of(int32_t filter, double x)
{
    double a = filter == PFD_BICUBIC ? -0.5 : -0.75;
    double far = fabs(x);
    switch (filter) {
    case PFD_BILINEAR:
        return far < 1 ? 1 - far : 0;
    case PFD_LANCZOS:
        return x == 0 ? 1 : x < -3 || x >= 3 ? 0 : pfd_sinc(x) * pfd_sinc(x / 3);
    default: /* R. Keys: Cubic convolution interpolation for digital image processing, 1981 */
        if (far < 1) return ((a + 2) * far - (a + 3)) * far * far + 1;
        return far < 2 ? (((far - 5) * far + 8) * far - 4) * a : 0;
    }
}

static double support_of(int32_t filter)
{
    return filter == PFD_BILINEAR ? 1 : filter == PFD_LANCZOS ? 3 : 2;
}

/* Source pixels for one output pixel. */
static double scale_of(const pfd_axis *axis)
{
    return (axis->end - axis->begin) / (double)axis->out_size;
}

/* ---- One output pixel ------------------------------------------------------------------------ */

typedef struct run {
    int64_t start, count;
} run;

static run clip_run(double start, double end, int64_t in_size)
{
    int64_t from = start < 0 ? 0 : (int64_t)start;
    int64_t to = end > (double)in_size ? in_size : (int64_t)end;
    return (run){from, to - from};
}

static run antialiased(int32_t filter, const pfd_axis *axis, int64_t i, double *weights)
{
    double scale = scale_of(axis), wide = scale < 1 ? 1 : scale, narrow = 1 / wide;
    double centre = axis->begin + ((double)i + 0.5) * scale, support = support_of(filter) * wide;
    run out = clip_run(centre - support + 0.5, centre + support + 0.5, axis->in_size);
    for (int64_t j = 0; j < out.count; j++)
        weights[j] = weight_of(filter, ((double)(out.start + j) - centre + 0.5) * narrow);
    return out;
}

/* A pixel of which less than a millionth is covered is left out, and so is less than a millionth of
 * the output pixel: edges that should meet are a rounding apart. */
static run covered(const pfd_axis *axis, int64_t i, double *weights)
{
    double scale = scale_of(axis), least = (scale < 1 ? scale : 1) * 1e-6;
    double from = axis->begin + (double)i * scale, to = from + scale;
    run out = clip_run(floor(from + least), ceil(to - least), axis->in_size);
    for (int64_t j = 0; j < out.count; j++) {
        double left = (double)(out.start + j), right = left + 1;
        weights[j] = (right < to ? right : to) - (left > from ? left : from);
    }
    return out;
}

/* Pixels beyond the edge are the one at the edge. */
static run four_nearest(const pfd_axis *axis, int64_t i, double *weights)
{
    double place = axis->begin + ((double)i + 0.5) * scale_of(axis) - 0.5, first = floor(place) - 1;
    run out = clip_run(first, first + 4, axis->in_size);
    memset(weights, 0, (size_t)out.count * sizeof *weights);
    for (int64_t j = 0; j < 4; j++) {
        int64_t at = (int64_t)first + j - out.start;
        at = at < 0 ? 0 : at >= out.count ? out.count - 1 : at;
        weights[at] += weight_of(PFD_POINT_BICUBIC, first + (double)j - place);
    }
    return out;
}

static run make_run(int32_t filter, const pfd_axis *axis, int64_t i, double *weights)
{
    return filter == PFD_AREA            ? covered(axis, i, weights)
           : filter == PFD_POINT_BICUBIC ? four_nearest(axis, i, weights)
                                         : antialiased(filter, axis, i, weights);
}

/* To the nearest integer, halves away from zero. */
static int32_t fixed_point(double weight)
{
    double scaled = weight * (1 << PFD_WEIGHT_BITS);
    return (int32_t)(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

/* ---- All of an axis -------------------------------------------------------------------------- */

int64_t pfd_most_taps(int32_t filter, const pfd_axis *axis)
{
    double scale = scale_of(axis), wide = scale < 1 ? 1 : scale;
    double most = filter == PFD_AREA            ? wide + 2
                  : filter == PFD_POINT_BICUBIC ? 4
                                                : 2 * ceil(support_of(filter) * wide) + 1;
    most = most < (double)axis->in_size ? most : (double)axis->in_size;
    return ((int64_t)most + 1) / 2 * 2;
}

int64_t pfd_taps_bytes(int32_t filter, const pfd_axis *axis)
{
    int64_t taps = pfd_most_taps(filter, axis), bytes;
    int64_t of_one = 2 * (int64_t)sizeof(int64_t) + taps * (int64_t)sizeof(int32_t);
    if (__builtin_mul_overflow(of_one, axis->out_size, &bytes)) return -1;
    return __builtin_add_overflow(bytes, taps * (int64_t)sizeof(double), &bytes) ? -1 : bytes;
}

void pfd_make_taps(int32_t filter, const pfd_axis *axis, void *memory, pfd_taps *out)
{
    int64_t stride = pfd_most_taps(filter, axis), most = 1;
    double *exact = memory;
    out->size = axis->out_size;
    out->stride = stride;
    out->starts = (void *)(exact + stride);
    out->counts = out->starts + out->size;
    out->weights = (void *)(out->counts + out->size);
    for (int64_t i = 0; i < out->size; i++) {
        run taps = make_run(filter, axis, i, exact);
        int32_t *weights = out->weights + i * stride;
        double sum = 0;
        for (int64_t j = 0; j < taps.count; j++) sum += exact[j];
        for (int64_t j = 0; j < taps.count; j++)
            weights[j] = fixed_point(sum != 0 ? exact[j] / sum : exact[j]);
        memset(weights + taps.count, 0, (size_t)(stride - taps.count) * sizeof *weights);
        out->starts[i] = taps.start;
        out->counts[i] = taps.count;
        if (taps.count > most) most = taps.count;
    }
    out->most = (most + 1) / 2 * 2;
}
