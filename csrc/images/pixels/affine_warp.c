/* Affine warps: for each row of the output the pixels whose places are in the source, then
 * these. */
#include "images/pixels/affine_warp.h"

#include "images/pixels/sin_pi.h"
#include "images/pixels/warp_rows.h"

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

/* Pixels to a place with `bits` fractional bits, halves up; beyond `most` there is no source. */
static int64_t place_of(double pixels, double most, int bits)
{
    double bounded = pixels < -most ? -most : pixels > most ? most : pixels;
    double scaled = bounded * (double)(INT64_C(1) << bits);
    return (int64_t)floor(scaled + 0.5) * (PFD_PLACE_ONE >> bits);
}

enum { FARTHEST = 1 << 28, STEEPEST = 1 << 14 };

/* Of row `row`. */
static pfd_place_line line_of(double by_x, double by_y, double origin, int64_t row)
{
    double down = by_y * ((double)row + 0.5), half = by_x * 0.5, first = down + half;
    return (pfd_place_line){place_of(first + origin, FARTHEST, 32), place_of(by_x, STEEPEST, 32)};
}

/* The same by Pillow's arithmetic for nearest pixels, which has 16 bits. */
static pfd_place_line coarse_line_of(double by_x, double by_y, double origin, int64_t row)
{
    double half_x = by_x * 0.5, half_y = by_y * 0.5, sum = origin + half_x;
    int64_t first = place_of(sum + half_y, FARTHEST, 16), down = place_of(by_y, STEEPEST, 16);
    int64_t most = FARTHEST * PFD_PLACE_ONE, at;
    if (__builtin_mul_overflow(down, row, &at)) at = down < 0 ? -most : most;
    at = at < -most ? -most : at > most ? most : at;
    return (pfd_place_line){first + at, place_of(by_x, STEEPEST, 16)};
}

/* The least i with first + i * step >= place, step > 0. */
static int64_t reach(const pfd_place_line *at, int64_t place)
{
    int64_t distance = place - at->first;
    return distance <= 0 ? 0 : (distance - 1) / at->step + 1;
}

/* Those of n pixels whose places are in [0, size). */
static pfd_span inside(pfd_place_line at, int64_t size, int64_t n)
{
    int64_t end = size * PFD_PLACE_ONE, is_back = at.step < 0;
    pfd_span out;
    if (at.step == 0) return (pfd_span){0, at.first >= 0 && at.first < end ? n : 0};
    if (is_back) at = (pfd_place_line){end - 1 - at.first, -at.step};
    out.begin = reach(&at, 0);
    out.end = reach(&at, end);
    if (out.end > n) out.end = n;
    return out;
}

static pfd_span both(pfd_span a, pfd_span b)
{
    pfd_span out = {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
    return out.begin < out.end ? out : (pfd_span){0, 0};
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void fill_pixels(uint8_t *out, int64_t begin, int64_t end, const uint8_t *fill,
                        int64_t channels)
{
    for (int64_t i = begin; i < end; i++) memcpy(out + i * channels, fill, (size_t)channels);
}

/* Those of n pixels whose places are at least half a pixel in the source, one and a half from its
 * right side. */
static pfd_span inner_span(const pfd_warp_row *row)
{
    pfd_place_line x = row->x, y = row->y;
    x.first -= PFD_PLACE_ONE / 2;
    y.first -= PFD_PLACE_ONE / 2;
    return both(inside(x, row->in->width - 2, row->width),
                inside(y, row->in->height - 1, row->width));
}

void pfd_affine_warp(const pfd_image_part *in, const pfd_affine *places, int32_t bilinear,
                     const uint8_t fill[4], uint8_t *out, int64_t height, int64_t width)
{
    pfd_place_line (*line_at)(double, double, double, int64_t) =
        bilinear ? line_of : coarse_line_of;
    for (int64_t y = 0; y < height; y++, out += width * in->channels) {
        pfd_warp_row row = {.in = in,
                            .x = line_at(places->xx, places->xy, places->x0, y),
                            .y = line_at(places->yx, places->yy, places->y0, y),
                            .width = width,
                            .out = out};
        pfd_span pixels = both(inside(row.x, in->width, width), inside(row.y, in->height, width));
        fill_pixels(out, 0, pixels.begin, fill, in->channels);
        if (bilinear)
            pfd_warp_bilinear(&row, pixels, inner_span(&row));
        else
            pfd_warp_nearest(&row, pixels);
        fill_pixels(out, pixels.end, width, fill, in->channels);
    }
}
