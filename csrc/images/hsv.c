/* Hue, saturation and value: by the formulas of colorsys, in the arithmetic of Pillow's C code. */
#include "images/hsv.h"

#include <math.h>
#include <string.h>

typedef struct hsv {
    int32_t hue, saturation, value; /* 0 to 255 */
} hsv;

static int32_t hue_of(int32_t r, int32_t g, int32_t b, int32_t most, float range)
{
    float from_r = (float)(most - r) / range, from_g = (float)(most - g) / range;
    float from_b = (float)(most - b) / range, hue;
    if (r == most)
        hue = from_b - from_g;
    else if (g == most)
        hue = (float)(2.0 + from_r - from_b);
    else
        hue = (float)(4.0 + from_g - from_r);
    double turns = hue / 6.0 + 1.0;
    hue = (float)(turns >= 1 ? turns - 1 : turns);
    return (int32_t)(hue * 255.0);
}

static hsv to_hsv(const uint8_t *rgb)
{
    int32_t r = rgb[0], g = rgb[1], b = rgb[2];
    int32_t most = r > g ? r : g, least = r < g ? r : g;
    most = most > b ? most : b;
    least = least < b ? least : b;
    if (most == least) return (hsv){.value = most};
    float range = (float)(most - least);
    float saturation = range / (float)most;
    return (hsv){hue_of(r, g, b, most, range), (int32_t)(saturation * 255.0), most};
}

/* value * (1 - part / 65025), rounded. */
static uint8_t darker(int32_t value, int32_t part)
{
    enum { whole = 255 * 255 };
    return (uint8_t)((2 * value * (whole - part) + whole) / (2 * whole));
}

static void to_rgb(hsv from, uint8_t *out)
{
    int32_t sixth = 6 * from.hue / 255, rest = 6 * from.hue % 255; /* hue 255 is sixth 6, as 0 */
    uint8_t v = (uint8_t)from.value, p = darker(from.value, from.saturation * 255);
    uint8_t q = darker(from.value, from.saturation * rest);
    uint8_t t = darker(from.value, from.saturation * (255 - rest));
    const uint8_t rgb[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
    memcpy(out, rgb[sixth % 6], 3);
}

void pfd_adjust_hue(const pfd_image *in, double turn, uint8_t *out)
{
    int64_t pixels = in->height * in->width;
    if (in->channels == 1) {
        memmove(out, in->data, (size_t)pixels);
        return;
    }
    int32_t added = (int32_t)(turn * 255);
    for (int64_t i = 0; i < 3 * pixels; i += 3) {
        hsv pixel = to_hsv(in->data + i);
        pixel.hue = (pixel.hue + added) & 255;
        to_rgb(pixel, out + i);
    }
}
