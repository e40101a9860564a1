/* Random windows of images. */
#include "images/pixels/random_window.h"

#include "images/pixels/random_draws.h"

#include <inttypes.h>
#include <math.h>

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

/* In the middle, as large as the aspect ratios allow. */
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
