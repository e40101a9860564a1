/* Affine warps: for each row of the output the pixels whose places are in the source, then
 * these. */
#include "images/affine_warp.h"

#include "core/simd.h"
#include "images/sin_pi.h"

#include <string.h>

pfd_affine pfd_affine_of(const pfd_affine_motion *motion)
{
    double angle = motion->angle / 180, x = motion->shear_x / 180, y = motion->shear_y / 180;
    double cos_y = pfd_cos_pi(y), tan_x = pfd_sin_pi(x) / pfd_cos_pi(x);
    double a = pfd_cos_pi(angle - y) / cos_y, c = pfd_sin_pi(angle - y) / cos_y;
    double sheared_a = a * tan_x, sheared_c = c * tan_x;
    double b = -sheared_a - pfd_sin_pi(angle), d = pfd_cos_pi(angle) - sheared_c;
    pfd_affine out = {.xx = d / motion->scale,
                      .xy = -b / motion->scale,
                      .yx = -c / motion->scale,
                      .yy = a / motion->scale};
    double from_x = motion->centre_x + motion->right, from_y = motion->centre_y + motion->down;
    double x_by_x = out.xx * from_x, x_by_y = out.xy * from_y;
    double y_by_x = out.yx * from_x, y_by_y = out.yy * from_y;
    out.x0 = motion->centre_x - x_by_x - x_by_y;
    out.y0 = motion->centre_y - y_by_x - y_by_y;
    return out;
}

/* ---- Places ---------------------------------------------------------------------------------- */

#define ONE (INT64_C(1) << 32) /* a pixel */

/* The places of a row of the output: `first`, and `step` farther each. */
typedef struct line {
    int64_t first, step;
} line;

/* Pixels to a place with `bits` bits behind the point, halves up; beyond `most` there is no source.
 */
static int64_t place_of(double pixels, double most, int bits)
{
    double bounded = pixels < -most ? -most : pixels > most ? most : pixels;
    double scaled = bounded * (double)(INT64_C(1) << bits);
    return (int64_t)floor(scaled + 0.5) * (ONE >> bits);
}

enum { FARTHEST = 1 << 28, STEEPEST = 1 << 14 };

/* Of row `row`. */
static line line_of(double by_x, double by_y, double origin, int64_t row)
{
    double down = by_y * ((double)row + 0.5), half = by_x * 0.5, first = down + half;
    return (line){place_of(first + origin, FARTHEST, 32), place_of(by_x, STEEPEST, 32)};
}

/* The same by Pillow's arithmetic for nearest pixels, which has 16 bits. */
static line coarse_line_of(double by_x, double by_y, double origin, int64_t row)
{
    double half_x = by_x * 0.5, half_y = by_y * 0.5, sum = origin + half_x;
    int64_t first = place_of(sum + half_y, FARTHEST, 16), down = place_of(by_y, STEEPEST, 16);
    int64_t most = FARTHEST * ONE, at;
    if (__builtin_mul_overflow(down, row, &at)) at = down < 0 ? -most : most;
    at = at < -most ? -most : at > most ? most : at;
    return (line){first + at, place_of(by_x, STEEPEST, 16)};
}

/* Output pixels [begin, end). */
typedef struct span {
    int64_t begin, end;
} span;

/* The least i with first + i * step >= place, step > 0. */
static int64_t reach(const line *at, int64_t place)
{
    int64_t distance = place - at->first;
    return distance <= 0 ? 0 : (distance - 1) / at->step + 1;
}

/* Those of n pixels whose places are in [0, size). */
static span inside(line at, int64_t size, int64_t n)
{
    int64_t end = size * ONE, is_back = at.step < 0;
    span out;
    if (at.step == 0) return (span){0, at.first >= 0 && at.first < end ? n : 0};
    if (is_back) at = (line){end - 1 - at.first, -at.step};
    out.begin = reach(&at, 0);
    out.end = reach(&at, end);
    if (out.end > n) out.end = n;
    return out;
}

static span both(span a, span b)
{
    span out = {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
    return out.begin < out.end ? out : (span){0, 0};
}

/* ---- Pixels ---------------------------------------------------------------------------------- */

typedef struct warp {
    const pfd_image_part *in;
    line x, y; /* of this row */
    uint8_t *out;
} warp;

PFD_INLINE void warp_nearest(const warp *row, span pixels, int64_t channels)
{
    for (int64_t i = pixels.begin; i < pixels.end; i++) {
        int64_t x = (row->x.first + i * row->x.step) >> 32;
        int64_t y = (row->y.first + i * row->y.step) >> 32;
        memcpy(row->out + i * channels, row->in->data + y * row->in->stride + x * channels,
               (size_t)channels);
    }
}

/* Two neighbours of a place, and how much of the second one, of 2^11. */
typedef struct pair {
    int64_t first, second;
    int32_t weight;
} pair;

static inline pair pair_at(int64_t place, int64_t size)
{
    int64_t left = place - ONE / 2, pixel = left >> 32;
    pair out = {pixel < 0 ? 0 : pixel, pixel + 1 < size ? pixel + 1 : size - 1, 0};
    out.weight = (int32_t)((left & (ONE - 1)) >> 21);
    return out;
}

/* The sum of two pixels with 7 bits behind the point. */
static inline int32_t mix(int32_t a, int32_t b, int32_t weight)
{
    return (a * (2048 - weight) + b * weight + 8) >> 4;
}

PFD_INLINE void warp_bilinear(const warp *row, span pixels, int64_t channels)
{
    const pfd_image_part *in = row->in;
    for (int64_t i = pixels.begin; i < pixels.end; i++) {
        pair x = pair_at(row->x.first + i * row->x.step, in->width);
        pair y = pair_at(row->y.first + i * row->y.step, in->height);
        const uint8_t *upper = in->data + y.first * in->stride;
        const uint8_t *lower = in->data + y.second * in->stride;
        int64_t left = x.first * channels, right = x.second * channels;
        for (int64_t c = 0; c < channels; c++) {
            int32_t above = mix(upper[left + c], upper[right + c], x.weight);
            int32_t below = mix(lower[left + c], lower[right + c], x.weight);
            int32_t sum = above * (2048 - y.weight) + below * y.weight;
            row->out[i * channels + c] = (uint8_t)((sum + (1 << 17)) >> 18);
        }
    }
}

/* The loop for a number of channels that the compiler knows. */
static void warp_row(const warp *row, span pixels, int32_t bilinear)
{
    int64_t channels = row->in->channels;
    if (bilinear && channels == 3)
        warp_bilinear(row, pixels, 3);
    else if (bilinear && channels == 1)
        warp_bilinear(row, pixels, 1);
    else if (bilinear)
        warp_bilinear(row, pixels, channels);
    else if (channels == 3)
        warp_nearest(row, pixels, 3);
    else if (channels == 1)
        warp_nearest(row, pixels, 1);
    else
        warp_nearest(row, pixels, channels);
}

static void fill_pixels(uint8_t *out, int64_t begin, int64_t end, const uint8_t *fill,
                        int64_t channels)
{
    for (int64_t i = begin; i < end; i++) memcpy(out + i * channels, fill, (size_t)channels);
}

void pfd_affine_warp(const pfd_image_part *in, const pfd_affine *places, int32_t bilinear,
                     const uint8_t fill[4], uint8_t *out, int64_t height, int64_t width)
{
    for (int64_t row = 0; row < height; row++, out += width * in->channels) {
        line (*line_at)(double, double, double, int64_t) = bilinear ? line_of : coarse_line_of;
        warp at = {.in = in,
                   .x = line_at(places->xx, places->xy, places->x0, row),
                   .y = line_at(places->yx, places->yy, places->y0, row),
                   .out = out};
        span pixels = both(inside(at.x, in->width, width), inside(at.y, in->height, width));
        fill_pixels(out, 0, pixels.begin, fill, in->channels);
        warp_row(&at, pixels, bilinear);
        fill_pixels(out, pixels.end, width, fill, in->channels);
    }
}
