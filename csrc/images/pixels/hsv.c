/* Hue, saturation and value: by the formulas of colorsys, in the arithmetic of Pillow's C code. */
#include "images/pixels/hsv.h"

#include "core/cpu.h"

#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math") /* these loops are there to be vectorised */
#endif

/* Without FMA no compiler can fuse product and sum. */
#if defined(__x86_64__)
#define ONLY_AVX2 __attribute__((target("avx2")))
#endif

/* Pixels at once: red, green and blue of each, or hue, saturation and value; 0 to 255.  Loops over
 * them have no branches. */
enum { block = 128, whole = 255 * 255 };
typedef struct pixels {
    int32_t x[block], y[block], z[block];
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

/* The hue by each channel that may be the greatest, times 6. */
typedef struct hues {
    float by_r[block], by_g[block], by_b[block];
} hues;

PFD_INLINE void find_hues(const pixels *at, hues *out)
{
    for (int32_t i = 0; i < block; i++) {
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
    for (int32_t i = 0; i < block; i++) {
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
    return (int32_t)((uint32_t)(2 * value * (whole - part) + whole) / (2u * whole));
}

PFD_INLINE void to_rgb(pixels *at, int32_t turn)
{
    for (int32_t i = 0; i < block; i++) {
        int32_t hue = (at->x[i] + turn) & 255, saturation = at->y[i], v = at->z[i];
        int32_t sixth = (int32_t)(6u * (uint32_t)hue / 255u), rest = 6 * hue - 255 * sixth;
        int32_t p = darker(v, saturation * 255), q = darker(v, saturation * rest);
        int32_t t = darker(v, saturation * (255 - rest));
        sixth = sixth == 6 ? 0 : sixth; /* of hue 255 */
        at->x[i] = sixth == 1 ? q : sixth == 4 ? t : sixth == 2 || sixth == 3 ? p : v;
        at->y[i] = sixth == 0 ? t : sixth == 3 ? q : sixth == 1 || sixth == 2 ? v : p;
        at->z[i] = sixth == 2 ? t : sixth == 5 ? q : sixth == 3 || sixth == 4 ? v : p;
    }
}

PFD_INLINE void turn_plain(pixels *at, int32_t turn)
{
    to_hsv(at);
    to_rgb(at, turn);
}

#if defined(__x86_64__)
ONLY_AVX2 static void turn_avx2(pixels *at, int32_t turn)
{
    turn_plain(at, turn);
}
#endif

static void turn_block(pixels *at, int32_t turn)
{
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX2) {
        turn_avx2(at, turn);
        return;
    }
#endif
    turn_plain(at, turn);
}

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
        n = left < block ? left : block;
        for (int64_t i = 0; i < n; i++) {
            at.x[i] = from[3 * i];
            at.y[i] = from[3 * i + 1];
            at.z[i] = from[3 * i + 2];
        }
        turn_block(&at, (int32_t)(turn * 255));
        for (int64_t i = 0; i < n; i++) {
            out[3 * i] = (uint8_t)at.x[i];
            out[3 * i + 1] = (uint8_t)at.y[i];
            out[3 * i + 2] = (uint8_t)at.z[i];
        }
    }
}
