/* Tables of 256 numbers, made and applied. */
#include "images/pixels/pixel_tables.h"

#include "images/pixels/blend.h"

#include <string.h>

enum { most = 3 }; /* channels */

typedef struct tables {
    uint8_t of[most][256]; /* one per channel */
} tables;

typedef struct histograms {
    int64_t of[most][256];
} histograms;

static int64_t size_of(const pfd_image *image)
{
    return image->height * image->width * image->channels;
}

static void apply_one(const pfd_image *in, const uint8_t table[256], uint8_t *out)
{
    for (int64_t i = 0; i < size_of(in); i++) out[i] = table[in->data[i]];
}

static void apply(const pfd_image *in, const tables *by, uint8_t *out)
{
    if (in->channels == 1) {
        apply_one(in, by->of[0], out);
        return;
    }
    for (int64_t i = 0; i < size_of(in); i += 3)
        for (int64_t c = 0; c < 3; c++) out[i + c] = by->of[c][in->data[i + c]];
}

static void count(const pfd_image *in, histograms *out)
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
    for (int32_t i = 0; i < 256; i++) table[i] = pfd_blend_number(grey, (float)i, factor);
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

static void keep(uint8_t table[256])
{
    for (int32_t i = 0; i < 256; i++) table[i] = (uint8_t)i;
}

static void equal_table(const int64_t histogram[256], int64_t pixels, uint8_t table[256])
{
    int32_t last = 255;
    while (last > 0 && !histogram[last]) last--;
    int64_t step = (pixels - histogram[last]) / 255;
    if (step == 0) { /* also where there is one value only */
        keep(table);
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
        keep(table);
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
    count(in, &found);
    for (int64_t c = 0; c < in->channels; c++)
        equal_table(found.of[c], in->height * in->width, by.of[c]);
    apply(in, &by, out);
}

void pfd_autocontrast(const pfd_image *in, uint8_t *out)
{
    histograms found;
    tables by;
    count(in, &found);
    for (int64_t c = 0; c < in->channels; c++) widest_table(found.of[c], by.of[c]);
    apply(in, &by, out);
}
