/* Affine warps: finds, for each row of the output, the pixels whose places are in the source, and
 * computes them one by one or four at once. */
#include "images/pixels/affine_warp.h"

#include "core/cpu.h"
#include "images/pixels/sin_pi.h"

#include <string.h>

/* ---- Rows of pixels -------------------------------------------------------------------------- */

#define PLACE_ONE (INT64_C(1) << 32) /* a pixel */

/* Where the pixels of an output row lie in the source: the first at `first`, each next pixel `step`
 * farther. */
typedef struct place_line {
    int64_t first, step;
} place_line;

/* Output pixels [begin, end). */
typedef struct span {
    int64_t begin, end;
} span;

typedef struct warp_row {
    const pfd_image_region *in;
    place_line x, y;     /* in [0, width) and [0, height) for the pixels of the spans */
    int64_t width;       /* pixels of `out` */
    uint8_t *out;
} warp_row;

/* ---- Nearest --------------------------------------------------------------------------------- */

PFD_INLINE void nearest(const warp_row *row, span pixels, int64_t channels)
{
    for (int64_t i = pixels.begin; i < pixels.end; i++) {
        int64_t x = (row->x.first + i * row->x.step) >> 32;
        int64_t y = (row->y.first + i * row->y.step) >> 32;
        memcpy(row->out + i * channels, row->in->data + y * row->in->stride + x * channels,
               (size_t)channels);
    }
}

static void warp_nearest(const warp_row *row, span pixels)
{
    if (row->in->channels == 3)
        nearest(row, pixels, 3);
    else if (row->in->channels == 1)
        nearest(row, pixels, 1);
    else
        nearest(row, pixels, row->in->channels);
}

/* ---- Bilinear -------------------------------------------------------------------------------- */

/* The two neighbours of a place, and the weight of the second in units of 2^-11. */
typedef struct pair {
    int64_t first, second;
    int32_t weight;
} pair;

static inline pair pair_at(int64_t place, int64_t size)
{
    int64_t left = place - PLACE_ONE / 2, pixel = left >> 32;
    pair out = {pixel < 0 ? 0 : pixel, pixel + 1 < size ? pixel + 1 : size - 1, 0};
    out.weight = (int32_t)((left & (PLACE_ONE - 1)) >> 21);
    return out;
}

/* The weighted sum of two pixels, with 7 fractional bits. */
static inline int32_t mix(int32_t a, int32_t b, int32_t weight)
{
    return (a * (2048 - weight) + b * weight + 8) >> 4;
}

PFD_INLINE void bilinear(const warp_row *row, int64_t begin, int64_t end, int64_t channels)
{
    const pfd_image_region *in = row->in;
    for (int64_t i = begin; i < end; i++) {
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

static void bilinear_plain(const warp_row *row, int64_t begin, int64_t end)
{
    if (row->in->channels == 3)
        bilinear(row, begin, end, 3);
    else if (row->in->channels == 1)
        bilinear(row, begin, end, 1);
    else
        bilinear(row, begin, end, row->in->channels);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* 2048 - weight and weight, 16 bits each, for four places. */
PFD_TARGET_AVX2 PFD_INLINE __m256i weights_of(__m256i places)
{
    __m256i weight = _mm256_and_si256(_mm256_srli_epi64(places, 21), _mm256_set1_epi64x(2047));
    __m256i rest = _mm256_sub_epi64(_mm256_set1_epi64x(2048), weight);
    return _mm256_or_si256(rest, _mm256_slli_epi64(weight, 16));
}

/* The two upper and two lower neighbours of a pixel, 8 bytes each. */
PFD_TARGET_AVX2 PFD_INLINE __m128i load_four(const uint8_t *upper, int64_t stride)
{
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const void *)upper),
                              _mm_loadl_epi64((const void *)(upper + stride)));
}

/* The weighted sums for two output pixels, one in each half, as numbers of 32 bits. */
PFD_TARGET_AVX2 PFD_INLINE __m256i mix_two(__m256i pixels, __m256i by_x, __m256i by_y,
                                           int64_t channels)
{
    const __m256i above_order = _mm256_broadcastsi128_si256(
        channels == 3 ? _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1)
                      : _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1));
    const __m256i below_order = _mm256_broadcastsi128_si256(
        channels == 3 ? _mm_setr_epi8(8, -1, 11, -1, 9, -1, 12, -1, 10, -1, 13, -1, -1, -1, -1, -1)
                      : _mm_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15,
                                      -1));
    const __m256i half = _mm256_set1_epi32(8);
    __m256i above = _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, above_order), by_x);
    __m256i below = _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, below_order), by_x);
    above = _mm256_srai_epi32(_mm256_add_epi32(above, half), 4);
    below = _mm256_srai_epi32(_mm256_add_epi32(below, half), 4);
    __m256i both = _mm256_or_si256(above, _mm256_slli_epi32(below, 16));
    __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(both, by_y), _mm256_set1_epi32(1 << 17));
    return _mm256_srai_epi32(sum, 18);
}

PFD_TARGET_AVX2 PFD_INLINE void store_pixel(uint8_t *out, __m128i pixels, int place)
{
    int32_t bytes = place ? _mm_extract_epi32(pixels, 1) : _mm_cvtsi128_si32(pixels);
    memcpy(out, &bytes, sizeof bytes);
}

PFD_TARGET_AVX2 PFD_INLINE __m256i four_places(const place_line *line, int64_t i)
{
    int64_t first = line->first - PLACE_ONE / 2 + i * line->step, step = line->step;
    return _mm256_setr_epi64x(first, first + step, first + 2 * step, first + 3 * step);
}

/* Writes pixels of 3 or 4 channels, four at once; a byte after them is written too. Returns where
 * the pixels end. */
PFD_TARGET_AVX2 PFD_INLINE int64_t bilinear_avx2(const warp_row *row, span pixels, int64_t channels)
{
    const __m256i first_two = _mm256_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2);
    const __m256i last_two = _mm256_setr_epi32(4, 4, 4, 4, 6, 6, 6, 6);
    const __m256i strides = _mm256_set1_epi64x(row->in->stride);
    const __m256i pixel_bytes = _mm256_set1_epi64x(channels);
    int64_t i = pixels.begin, stride = row->in->stride;
    __m256i x = four_places(&row->x, i), x_step = _mm256_set1_epi64x(4 * row->x.step);
    __m256i y = four_places(&row->y, i), y_step = _mm256_set1_epi64x(4 * row->y.step);
    for (; i + 4 <= pixels.end; i += 4) {
        int64_t at[4];
        __m256i from = _mm256_mul_epu32(_mm256_srli_epi64(y, 32), strides);
        from = _mm256_add_epi64(from, _mm256_mul_epu32(_mm256_srli_epi64(x, 32), pixel_bytes));
        _mm256_storeu_si256((void *)at, from);
        __m256i by_x = weights_of(x), by_y = weights_of(y), sums[2];
        for (int k = 0; k < 2; k++) {
            __m256i order = k ? last_two : first_two;
            __m256i two = _mm256_setr_m128i(load_four(row->in->data + at[2 * k], stride),
                                            load_four(row->in->data + at[2 * k + 1], stride));
            sums[k] = mix_two(two, _mm256_permutevar8x32_epi32(by_x, order),
                              _mm256_permutevar8x32_epi32(by_y, order), channels);
        }
        __m256i words = _mm256_packs_epi32(sums[0], sums[1]);
        __m256i bytes = _mm256_packus_epi16(words, words);
        __m128i even = _mm256_castsi256_si128(bytes), odd = _mm256_extracti128_si256(bytes, 1);
        uint8_t *out = row->out + i * channels;
        store_pixel(out, even, 0);
        store_pixel(out + channels, odd, 0);
        store_pixel(out + 2 * channels, even, 1);
        store_pixel(out + 3 * channels, odd, 1);
        x = _mm256_add_epi64(x, x_step);
        y = _mm256_add_epi64(y, y_step);
    }
    return i;
}

PFD_TARGET_AVX2 static int64_t bilinear_inner(const warp_row *row, span pixels)
{
    return row->in->channels == 3 ? bilinear_avx2(row, pixels, 3) : bilinear_avx2(row, pixels, 4);
}
#endif

/* `inner` has the pixels whose places are in [0.5, width - 1.5) and [0.5, height - 0.5); it may be
 * empty. */
static void warp_bilinear(const warp_row *row, span pixels, span inner)
{
    int64_t done = pixels.begin;
#if defined(__x86_64__)
    if (inner.end > row->width - 1) inner.end = row->width - 1;
    if (row->in->channels >= 3 && row->in->stride <= INT32_MAX && inner.end - inner.begin >= 4 &&
        pfd_simd_level() >= PFD_SIMD_AVX2) {
        bilinear_plain(row, pixels.begin, inner.begin);
        done = bilinear_inner(row, inner);
    }
#else
    (void)inner;
#endif
    bilinear_plain(row, done, pixels.end);
}

/* ---- Motions --------------------------------------------------------------------------------- */

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

/* A coordinate in pixels as a place with `bits` fractional bits; halves are rounded up. No source
 * has a pixel beyond `most`. */
static int64_t place_of(double pixels, double most, int bits)
{
    double bounded = pixels < -most ? -most : pixels > most ? most : pixels;
    double scaled = bounded * (double)(INT64_C(1) << bits);
    return (int64_t)floor(scaled + 0.5) * (PLACE_ONE >> bits);
}

enum { FARTHEST = 1 << 28, STEEPEST = 1 << 14 };

/* The places of row `row`. */
static place_line line_of(double by_x, double by_y, double origin, int64_t row)
{
    double down = by_y * ((double)row + 0.5), half = by_x * 0.5, first = down + half;
    return (place_line){place_of(first + origin, FARTHEST, 32), place_of(by_x, STEEPEST, 32)};
}

/* The places of row `row` in Pillow's arithmetic for nearest pixels, with 16 fractional bits. */
static place_line coarse_line_of(double by_x, double by_y, double origin, int64_t row)
{
    double half_x = by_x * 0.5, half_y = by_y * 0.5, sum = origin + half_x;
    int64_t first = place_of(sum + half_y, FARTHEST, 16), down = place_of(by_y, STEEPEST, 16);
    int64_t most = FARTHEST * PLACE_ONE, at;
    if (__builtin_mul_overflow(down, row, &at)) at = down < 0 ? -most : most;
    at = at < -most ? -most : at > most ? most : at;
    return (place_line){first + at, place_of(by_x, STEEPEST, 16)};
}

/* The least i with first + i * step >= place, step > 0. */
static int64_t reach(const place_line *at, int64_t place)
{
    int64_t distance = place - at->first;
    return distance <= 0 ? 0 : (distance - 1) / at->step + 1;
}

/* Finds, among n pixels, those with places in [0, size). */
static span inside(place_line at, int64_t size, int64_t n)
{
    int64_t end = size * PLACE_ONE, is_back = at.step < 0;
    span out;
    if (at.step == 0) return (span){0, at.first >= 0 && at.first < end ? n : 0};
    if (is_back) at = (place_line){end - 1 - at.first, -at.step};
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

/* ---- Images ---------------------------------------------------------------------------------- */

static void fill_pixels(uint8_t *out, int64_t begin, int64_t end, const uint8_t *fill,
                        int64_t channels)
{
    for (int64_t i = begin; i < end; i++) memcpy(out + i * channels, fill, (size_t)channels);
}

/* The pixels of the row whose places are at least half a pixel from the sides of the source, and at
 * least one and a half from its right side. */
static span inner_span(const warp_row *row)
{
    place_line x = row->x, y = row->y;
    x.first -= PLACE_ONE / 2;
    y.first -= PLACE_ONE / 2;
    return both(inside(x, row->in->width - 2, row->width),
                inside(y, row->in->height - 1, row->width));
}

void pfd_affine_warp(const pfd_image_region *in, const pfd_affine *places, int32_t bilinear,
                     const uint8_t fill[4], uint8_t *out, int64_t height, int64_t width)
{
    place_line (*line_at)(double, double, double, int64_t) = bilinear ? line_of : coarse_line_of;
    for (int64_t y = 0; y < height; y++, out += width * in->channels) {
        warp_row row = {.in = in,
                        .x = line_at(places->xx, places->xy, places->x0, y),
                        .y = line_at(places->yx, places->yy, places->y0, y),
                        .width = width,
                        .out = out};
        span pixels = both(inside(row.x, in->width, width), inside(row.y, in->height, width));
        fill_pixels(out, 0, pixels.begin, fill, in->channels);
        if (bilinear)
            warp_bilinear(&row, pixels, inner_span(&row));
        else
            warp_nearest(&row, pixels);
        fill_pixels(out, pixels.end, width, fill, in->channels);
    }
}
