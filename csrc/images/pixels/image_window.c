/* Copies windows of images, and draws random windows. */
#include "images/pixels/image_window.h"

#include "core/cpu.h"
#include "images/pixels/random_draws.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Copies ---------------------------------------------------------------------------------- */

/* The place in [0, n) whose pixel is used for a place beyond the edges. */
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

/* Copies a row of the window, whose pixels [begin, end) are in the image. */
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

/* ---- Random windows -------------------------------------------------------------------------- */

static pfd_status take_range(const pfd_host *host, const char *name, pfd_list_float64 list,
                             double most, double out[2], pfd_error *err)
{
    if (list.size != 2)
        return host->fail_attr(err, name, NULL, PFD_INVALID_ARGUMENT,
                               " has %" PRId64 " numbers; it must have two, the lowest and the "
                               "highest", list.size);
    out[0] = list.data[0];
    out[1] = list.data[1];
    if (out[0] > 0 && out[0] <= out[1] && out[1] <= most) return PFD_OK;
    return host->fail_attr(err, name, NULL, PFD_INVALID_ARGUMENT,
                           " = [%g, %g]; it must be 0 < lowest <= highest <= %g", out[0], out[1],
                           most);
}

pfd_status pfd_make_crop_rule(const pfd_host *host, const char *area_name, pfd_list_float64 area,
                              const char *aspect_ratio_name, pfd_list_float64 aspect_ratio,
                              int64_t num_attempts, pfd_crop_rule *out, pfd_error *err)
{
    out->num_attempts = num_attempts;
    PFD_TRY(take_range(host, area_name, area, 1, out->area, err));
    return take_range(host, aspect_ratio_name, aspect_ratio, 1e6, out->aspect_ratio, err);
}

int64_t pfd_window_side(double pixels)
{
    const double most = 1152921504606846976.0;
    return (int64_t)rint(pixels < most ? pixels : most);
}

static int64_t at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

/* The window in the middle that is as large as the aspect ratios allow. */
static pfd_window central_window(const pfd_crop_rule *rule, int64_t height, int64_t width)
{
    pfd_window out = {.height = height, .width = width};
    double ratio = (double)width / (double)height;
    if (ratio < rule->aspect_ratio[0])
        out.height = at_least_one(pfd_window_side((double)width / rule->aspect_ratio[0]));
    else if (ratio > rule->aspect_ratio[1])
        out.width = at_least_one(pfd_window_side((double)height * rule->aspect_ratio[1]));
    out.top = (height - out.height) / 2;
    out.left = (width - out.width) / 2;
    return out;
}

pfd_window pfd_random_window(const pfd_compute_args *args, int64_t row, const pfd_crop_rule *rule,
                             int64_t height, int64_t width)
{
    double area = (double)height * (double)width;
    for (int64_t attempt = 0; attempt < rule->num_attempts; attempt++) {
        double target = area * pfd_uniform_between(args, row, 2 + 2 * attempt, rule->area[0],
                                                   rule->area[1]);
        double ratio = pfd_log_uniform(args, row, 3 + 2 * attempt, rule->aspect_ratio[0],
                                       rule->aspect_ratio[1]);
        pfd_window out = {.height = pfd_window_side(sqrt(target / ratio)),
                          .width = pfd_window_side(sqrt(target * ratio))};
        if (out.height < 1 || out.height > height || out.width < 1 || out.width > width) continue;
        out.top = pfd_uniform_integer(args, row, 0, height - out.height + 1);
        out.left = pfd_uniform_integer(args, row, 1, width - out.width + 1);
        return out;
    }
    return central_window(rule, height, width);
}
