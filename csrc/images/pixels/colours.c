/* Changes of colour: blends with grey and smoothed images, tables of 256 numbers, and the hue. */
#include "images/pixels/colours.h"

#include "core/cpu.h"

#include <string.h>

/* ---- Blends ---------------------------------------------------------------------------------- */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

/* Without FMA no compiler can fuse product and sum. */
#define ONLY_AVX2 __attribute__((target("avx2")))

PFD_INLINE uint8_t blend(float other, float image, float factor)
{
    float distance = factor * (image - other);
    float value = other + distance;
    value = value > 0 ? value : 0;
    value = value < 255 ? value : 255;
    return (uint8_t)(int32_t)value;
}

/* ---- Grey ------------------------------------------------------------------------------------ */

PFD_INLINE int32_t grey_of(const uint8_t *rgb)
{
    return (int32_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

PFD_INLINE void greys(const uint8_t *restrict in, int64_t n, uint8_t *restrict out)
{
    for (int64_t i = 0; i < n; i++) out[i] = (uint8_t)grey_of(in + 3 * i);
}

PFD_INLINE void saturate(const uint8_t *in, int64_t n, float factor, uint8_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        float grey = (float)grey_of(in + 3 * i);
        for (int64_t c = 0; c < 3; c++)
            out[3 * i + c] = blend(grey, (float)in[3 * i + c], factor);
    }
}

PFD_WITH_AVX2(ONLY_AVX2, greys, (const uint8_t *in, int64_t n, uint8_t *out), (in, n, out))
PFD_WITH_AVX2(ONLY_AVX2, saturate,
              (const uint8_t *in, int64_t n, float factor, uint8_t *out), (in, n, factor, out))

void pfd_grey_of(const uint8_t *in, int64_t n, uint8_t *out)
{
    greys_best(in, n, out);
}

void pfd_grey_image(const pfd_image *in, uint8_t *out)
{
    int64_t pixels = in->height * in->width;
    if (in->channels == 1) {
        memcpy(out, in->data, (size_t)pixels);
        return;
    }
    for (int64_t i = 0; i < pixels; i++)
        out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = (uint8_t)grey_of(in->data + 3 * i);
}

void pfd_adjust_saturation(const pfd_image *in, float factor, uint8_t *out)
{
    int64_t pixels = in->height * in->width;
    if (in->channels == 1) {
        memmove(out, in->data, (size_t)pixels);
        return;
    }
    saturate_best(in->data, pixels, factor, out);
}

/* ---- Sharpness ------------------------------------------------------------------------------- */

/* (2 sum + 13) / 26 = (2 sum + 13) * 20165 / 2^19 for every sum up to 13 * 255. */
PFD_INLINE float smoothed(const uint8_t *above, const uint8_t *at, const uint8_t *below, int64_t c)
{
    uint32_t sum = (uint32_t)above[-c] + above[0] + above[c] + at[-c] + 5u * at[0] + at[c] +
                   below[-c] + below[0] + below[c];
    return (float)(int32_t)((2 * sum + 13) * 20165u >> 19);
}

/* Sharpens n numbers of a row, between its first and its last pixel. */
PFD_INLINE void sharpen(const uint8_t *in, int64_t row_bytes, int64_t channels, int64_t n,
                        float factor, uint8_t *restrict out)
{
    const uint8_t *above = in - row_bytes, *below = in + row_bytes;
    for (int64_t i = 0; i < n; i++)
        out[i] = blend(smoothed(above + i, in + i, below + i, channels), (float)in[i], factor);
}

PFD_WITH_AVX2(ONLY_AVX2, sharpen,
              (const uint8_t *in, int64_t row_bytes, int64_t channels, int64_t n, float factor,
               uint8_t *out),
              (in, row_bytes, channels, n, factor, out))

void pfd_adjust_sharpness(const pfd_image *in, float factor, uint8_t *out)
{
    int64_t channels = in->channels, row_bytes = in->width * channels;
    memcpy(out, in->data, (size_t)(in->height * row_bytes));
    if (in->width < 3) return;
    for (int64_t y = 1; y + 1 < in->height; y++) {
        int64_t first = y * row_bytes + channels, n = row_bytes - 2 * channels;
        sharpen_best(in->data + first, row_bytes, channels, n, factor, out + first);
    }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

/* ---- Tables of 256 numbers ------------------------------------------------------------------- */

enum { MOST_CHANNELS = 3 };

typedef struct tables {
    uint8_t of[MOST_CHANNELS][256]; /* one per channel */
} tables;

typedef struct histograms {
    int64_t of[MOST_CHANNELS][256];
} histograms;

static int64_t size_of(const pfd_image *image)
{
    return image->height * image->width * image->channels;
}

static void apply_one(const pfd_image *in, const uint8_t table[256], uint8_t *out)
{
    for (int64_t i = 0; i < size_of(in); i++) out[i] = table[in->data[i]];
}

static void apply_tables(const pfd_image *in, const tables *by, uint8_t *out)
{
    if (in->channels == 1) {
        apply_one(in, by->of[0], out);
        return;
    }
    for (int64_t i = 0; i < size_of(in); i += 3)
        for (int64_t c = 0; c < 3; c++) out[i + c] = by->of[c][in->data[i + c]];
}

static void count_numbers(const pfd_image *in, histograms *out)
{
    memset(out, 0, sizeof *out);
    if (in->channels == 1)
        for (int64_t i = 0; i < size_of(in); i++) out->of[0][in->data[i]]++;
    else
        for (int64_t i = 0; i < size_of(in); i += 3)
            for (int64_t c = 0; c < 3; c++) out->of[c][in->data[i + c]]++;
}

/* ---- Blends with a grey ---------------------------------------------------------------------- */

static void blend_with(const pfd_image *in, float grey, float factor, uint8_t *out)
{
    uint8_t table[256];
    for (int32_t i = 0; i < 256; i++) table[i] = blend(grey, (float)i, factor);
    apply_one(in, table, out);
}

void pfd_adjust_brightness(const pfd_image *in, float factor, uint8_t *out)
{
    blend_with(in, 0, factor, out);
}

void pfd_adjust_contrast(const pfd_image *in, float factor, uint8_t *out)
{
    enum { block = 1024 };
    uint8_t grey[block];
    int64_t pixels = in->height * in->width, sum = 0;
    for (int64_t i = 0, n; i < pixels; i += n) {
        n = pixels - i < block ? pixels - i : block;
        const uint8_t *values = in->data + i * in->channels;
        if (in->channels == 3) {
            pfd_grey_of(values, n, grey);
            values = grey;
        }
        for (int64_t k = 0; k < n; k++) sum += values[k];
    }
    blend_with(in, (float)((2 * sum + pixels) / (2 * pixels)), factor, out);
}

/* ---- Bits ------------------------------------------------------------------------------------ */

void pfd_invert(const pfd_image *in, uint8_t *out)
{
    for (int64_t i = 0; i < size_of(in); i++) out[i] = (uint8_t)(255 - in->data[i]);
}

void pfd_solarize(const pfd_image *in, double threshold, uint8_t *out)
{
    uint8_t table[256];
    for (int32_t i = 0; i < 256; i++) table[i] = (uint8_t)(i < threshold ? i : 255 - i);
    apply_one(in, table, out);
}

void pfd_posterize(const pfd_image *in, int64_t bits, uint8_t *out)
{
    uint8_t mask = (uint8_t)(0xff00u >> bits);
    for (int64_t i = 0; i < size_of(in); i++) out[i] = in->data[i] & mask;
}

/* ---- Histograms ------------------------------------------------------------------------------ */

static void keep_numbers(uint8_t table[256])
{
    for (int32_t i = 0; i < 256; i++) table[i] = (uint8_t)i;
}

static void equal_table(const int64_t histogram[256], int64_t pixels, uint8_t table[256])
{
    int32_t last = 255;
    while (last > 0 && !histogram[last]) last--;
    int64_t step = (pixels - histogram[last]) / 255;
    if (step == 0) { /* also if there is only one value */
        keep_numbers(table);
        return;
    }
    int64_t n = step / 2;
    for (int32_t i = 0; i < 256; i++) {
        table[i] = (uint8_t)(n / step < 255 ? n / step : 255);
        n += histogram[i];
    }
}

static void widest_table(const int64_t histogram[256], uint8_t table[256])
{
    int32_t low = 0, high = 255;
    while (low < 255 && !histogram[low]) low++;
    while (high > 0 && !histogram[high]) high--;
    if (high <= low) {
        keep_numbers(table);
        return;
    }
    double scale = 255.0 / (high - low), offset = -low * scale;
    for (int32_t i = 0; i < 256; i++) {
        double product = i * scale;
        double value = product + offset;
        table[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

void pfd_equalize(const pfd_image *in, uint8_t *out)
{
    histograms found;
    tables by;
    count_numbers(in, &found);
    for (int64_t c = 0; c < in->channels; c++)
        equal_table(found.of[c], in->height * in->width, by.of[c]);
    apply_tables(in, &by, out);
}

void pfd_autocontrast(const pfd_image *in, uint8_t *out)
{
    histograms found;
    tables by;
    count_numbers(in, &found);
    for (int64_t c = 0; c < in->channels; c++) widest_table(found.of[c], by.of[c]);
    apply_tables(in, &by, out);
}

/* ---- Hue, saturation and value: colorsys' formulas, in the arithmetic of Pillow's C code ----- */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3", "no-trapping-math") /* these loops are there to be vectorised */
#endif

/* The number of pixels that are converted at once, by loops without branches.  x, y and z are red,
 * green and blue, or hue, saturation and value, each from 0 to 255. */
enum { HSV_BLOCK = 128, WHOLE = 255 * 255 };

typedef struct pixels {
    int32_t x[HSV_BLOCK], y[HSV_BLOCK], z[HSV_BLOCK];
} pixels;

PFD_INLINE int32_t greatest(int32_t r, int32_t g, int32_t b)
{
    int32_t most = r > g ? r : g;
    return most > b ? most : b;
}

PFD_INLINE int32_t least(int32_t r, int32_t g, int32_t b)
{
    int32_t found = r < g ? r : g;
    return found < b ? found : b;
}

/* Six times the hue, for the case that red, green or blue is the greatest channel. */
typedef struct hues {
    float by_r[HSV_BLOCK], by_g[HSV_BLOCK], by_b[HSV_BLOCK];
} hues;

PFD_INLINE void find_hues(const pixels *at, hues *out)
{
    for (int32_t i = 0; i < HSV_BLOCK; i++) {
        int32_t r = at->x[i], g = at->y[i], b = at->z[i], most = greatest(r, g, b);
        int32_t distance = most - least(r, g, b);
        float range = (float)(distance + (distance == 0));
        float from_r = (float)(most - r) / range, from_g = (float)(most - g) / range;
        float from_b = (float)(most - b) / range;
        out->by_r[i] = from_b - from_g;
        out->by_g[i] = (float)(2.0 + (double)from_r - (double)from_b);
        out->by_b[i] = (float)(4.0 + (double)from_g - (double)from_r);
    }
}

PFD_INLINE void to_hsv(pixels *at)
{
    hues found;
    find_hues(at, &found);
    for (int32_t i = 0; i < HSV_BLOCK; i++) {
        int32_t r = at->x[i], g = at->y[i], b = at->z[i], most = greatest(r, g, b);
        int32_t distance = most - least(r, g, b);
        float sixths = r == most ? found.by_r[i] : g == most ? found.by_g[i] : found.by_b[i];
        double turns = (double)sixths / 6.0 + 1.0;
        float hue = (float)(turns - (double)(turns >= 1));
        float saturation = (float)distance / (float)(most + (most == 0));
        at->x[i] = (int32_t)((double)hue * 255.0) * (distance != 0);
        at->y[i] = (int32_t)((double)saturation * 255.0);
        at->z[i] = most;
    }
}

/* value * (1 - part / 65025), rounded. */
PFD_INLINE int32_t darker(int32_t value, int32_t part)
{
    return (int32_t)((uint32_t)(2 * value * (WHOLE - part) + WHOLE) / (2u * WHOLE));
}

PFD_INLINE void to_rgb(pixels *at, int32_t turn)
{
    for (int32_t i = 0; i < HSV_BLOCK; i++) {
        int32_t hue = (at->x[i] + turn) & 255, saturation = at->y[i], v = at->z[i];
        int32_t sixth = (int32_t)(6u * (uint32_t)hue / 255u), rest = 6 * hue - 255 * sixth;
        int32_t p = darker(v, saturation * 255), q = darker(v, saturation * rest);
        int32_t t = darker(v, saturation * (255 - rest));
        sixth = sixth == 6 ? 0 : sixth; /* for hue 255 */
        at->x[i] = sixth == 1 ? q : sixth == 4 ? t : sixth == 2 || sixth == 3 ? p : v;
        at->y[i] = sixth == 0 ? t : sixth == 3 ? q : sixth == 1 || sixth == 2 ? v : p;
        at->z[i] = sixth == 2 ? t : sixth == 5 ? q : sixth == 3 || sixth == 4 ? v : p;
    }
}

PFD_INLINE void turn_block(pixels *at, int32_t turn)
{
    to_hsv(at);
    to_rgb(at, turn);
}

PFD_WITH_AVX2(ONLY_AVX2, turn_block, (pixels *at, int32_t turn), (at, turn))

void pfd_adjust_hue(const pfd_image *in, double turn, uint8_t *out)
{
    int64_t left = in->height * in->width;
    if (in->channels == 1) {
        memmove(out, in->data, (size_t)left);
        return;
    }
    pixels at = {.x = {0}};
    const uint8_t *from = in->data;
    for (int64_t n; left > 0; left -= n, from += 3 * n, out += 3 * n) {
        n = left < HSV_BLOCK ? left : HSV_BLOCK;
        for (int64_t i = 0; i < n; i++) {
            at.x[i] = from[3 * i];
            at.y[i] = from[3 * i + 1];
            at.z[i] = from[3 * i + 2];
        }
        turn_block_best(&at, (int32_t)(turn * 255));
        for (int64_t i = 0; i < n; i++) {
            out[3 * i] = (uint8_t)at.x[i];
            out[3 * i + 1] = (uint8_t)at.y[i];
            out[3 * i + 2] = (uint8_t)at.z[i];
        }
    }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
