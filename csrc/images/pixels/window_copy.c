/* Windows of images, and what is around these. */
#include "images/pixels/window_copy.h"

#include "core/cpu.h"

#include <string.h>

/* The place in [0, n) that a place beyond the edges is taken from. */
static int64_t mirrored(int64_t place, int64_t n, int64_t period)
{
    if (n == 1) return 0;
    int64_t in_period = place % period;
    if (in_period < 0) in_period += period;
    return in_period < n ? in_period : period - in_period - (period == 2 * n);
}

static int64_t source_of(int32_t kind, int64_t place, int64_t n)
{
    if (place >= 0 && place < n) return place;
    if (kind == PFD_BORDER_EDGE) return place < 0 ? 0 : n - 1;
    return mirrored(place, n, kind == PFD_BORDER_REFLECT ? 2 * n - 2 : 2 * n);
}

PFD_INLINE void fill_pixels(uint8_t *out, int64_t n, const uint8_t *fill, int64_t pixel_bytes)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * pixel_bytes, fill, (size_t)pixel_bytes);
}

static void fill_run(uint8_t *out, int64_t n, const uint8_t *fill, int64_t pixel_bytes)
{
    if (pixel_bytes == 3)
        fill_pixels(out, n, fill, 3);
    else if (pixel_bytes == 1)
        memset(out, *fill, (size_t)(n > 0 ? n : 0));
    else
        fill_pixels(out, n, fill, pixel_bytes);
}

/* One row of the window: pixels [begin, end) of it are in the image. */
static void copy_row(const pfd_image *image, int64_t pixel_bytes, const pfd_window *window,
                     const pfd_border *border, const uint8_t *row, int64_t begin, int64_t end,
                     uint8_t *out)
{
    if (begin < end)
        memcpy(out + begin * pixel_bytes, row + (window->left + begin) * pixel_bytes,
               (size_t)((end - begin) * pixel_bytes));
    if (border->kind == PFD_BORDER_CONSTANT) {
        fill_run(out, begin, border->fill, pixel_bytes);
        fill_run(out + end * pixel_bytes, window->width - end, border->fill, pixel_bytes);
        return;
    }
    for (int64_t i = 0; i < window->width; i++) {
        if (i == begin && begin < end) i = end;
        if (i == window->width) break;
        int64_t column = source_of(border->kind, window->left + i, image->width);
        memcpy(out + i * pixel_bytes, row + column * pixel_bytes, (size_t)pixel_bytes);
    }
}

static int64_t bounded(int64_t i, int64_t most)
{
    return i < 0 ? 0 : i > most ? most : i;
}

void pfd_copy_window(const pfd_image *image, int64_t pixel_bytes, const pfd_window *window,
                     const pfd_border *border, uint8_t *out)
{
    int64_t begin = bounded(-window->left, window->width);
    int64_t end = bounded(image->width - window->left, window->width);
    int64_t row_bytes = window->width * pixel_bytes;
    if (end < begin) end = begin;
    for (int64_t y = 0; y < window->height; y++, out += row_bytes) {
        int64_t row = window->top + y;
        if (border->kind == PFD_BORDER_CONSTANT && (row < 0 || row >= image->height)) {
            fill_run(out, window->width, border->fill, pixel_bytes);
            continue;
        }
        const uint8_t *from = image->data + source_of(border->kind, row, image->height) *
                                                image->width * pixel_bytes;
        copy_row(image, pixel_bytes, window, border, from, begin, end, out);
    }
}
