/* RandomErasing: a random rectangle of each image, filled. */
#include "core/narrow_floats.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "images/pixels/image_rows.h"
#include "images/pixels/image_window.h"
#include "images/pixels/random_draws.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <math.h>
#include <string.h>

/* The draws of a record: whether, where, the areas and ratios of the attempts, the noise. */
enum { draw_whether, draw_top, draw_left, draw_attempts, draw_noise = PFD_CROP_DRAWS + 1 };

typedef struct random_erasing_attrs {
    pfd_list_float64 area, aspect_ratio, fill;
    int64_t num_attempts;
    int32_t layout, noise;
    double probability;
} random_erasing_attrs;

/* The attrs, checked. */
typedef struct plan {
    pfd_crop_rule rule;
    uint8_t fill[PFD_MOST_PIXEL_BYTES];
} plan;

static pfd_status make_plan(const pfd_host *host, const random_erasing_attrs *attrs,
                            const pfd_row_type *in, plan *out, pfd_error *err)
{
    int64_t channels = pfd_image_grid_of(attrs->layout, in->shape).channels;
    pfd_row_type pixels = {.dtype = in->dtype, .ndim = 3, .shape = {-1, -1, channels}};
    PFD_TRY(pfd_make_crop_rule(host, "area", attrs->area, "aspect_ratio", attrs->aspect_ratio,
                               attrs->num_attempts, &out->rule, err));
    return pfd_take_fill(host, "fill", attrs->fill, &pixels, out->fill, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const random_erasing_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    plan checked;
    PFD_TRY(pfd_expect_layout(args, 0, "in", attrs->layout, err));
    if (in->dtype != PFD_UINT8 && in->dtype != PFD_FLOAT32 && !pfd_is_narrow_float(in->dtype))
        return pfd_refuse_rows(args, 0, "in",
                               "they must be uint8, float16, bfloat16 or float32", err);
    args->outputs[0] = *in;
    return make_plan(args->host, attrs, in, &checked, err);
}

/* torchvision's rule: an attempt that is as high or as wide as the image fails.  0: all failed. */
static int32_t find_window(const pfd_compute_args *args, int64_t row, const pfd_crop_rule *rule,
                           const pfd_image_grid *image, pfd_window *out)
{
    double area = (double)image->height * (double)image->width;
    for (int64_t k = 0; k < rule->num_attempts; k++) {
        int64_t draw = draw_attempts + 2 * k;
        double target =
            area * pfd_uniform_between(args, row, draw, rule->area[0], rule->area[1]);
        double ratio = pfd_log_uniform(args, row, draw + 1, rule->aspect_ratio[0],
                                       rule->aspect_ratio[1]);
        out->height = pfd_window_side(sqrt(target / ratio));
        out->width = pfd_window_side(sqrt(target * ratio));
        if (out->height >= image->height || out->width >= image->width) continue;
        out->top = pfd_uniform_integer(args, row, draw_top, image->height - out->height + 1);
        out->left = pfd_uniform_integer(args, row, draw_left, image->width - out->width + 1);
        return 1;
    }
    return 0;
}

/* Noise of the dtype: 8 bytes per draw, or 2 normal numbers per draw. */
typedef struct noise {
    int64_t made; /* elements */
    uint64_t bits;
    double pair[2];
} noise;

static void make_noise(const pfd_compute_args *args, int64_t row, noise *state, uint8_t *out)
{
    int32_t dtype = args->inputs[0]->type.dtype;
    int64_t together = dtype == PFD_UINT8 ? 8 : 2, k = state->made++ % together;
    if (k == 0)
        state->bits = pfd_draw_bits(args, row, draw_noise + state->made / together);
    if (dtype == PFD_UINT8) {
        *out = (uint8_t)(state->bits >> (8 * k));
        return;
    }
    if (k == 0) pfd_normal_pair(state->bits, state->pair);
    (void)pfd_convert(PFD_FLOAT64, &state->pair[k], dtype, out, 1, PFD_OVERFLOW_WRAP);
}

static void erase(const pfd_compute_args *args, int64_t row, const pfd_image_grid *image,
                  const pfd_window *window, const uint8_t *fill, uint8_t *out)
{
    const random_erasing_attrs *attrs = args->attrs;
    int64_t bytes = pfd_dtype_size(args->inputs[0]->type.dtype), step = image->pixel_step * bytes;
    noise state = {0};
    for (int64_t c = 0; c < image->channels; c++) {
        for (int64_t y = 0; y < window->height; y++) {
            uint8_t *to = out + (c * image->channel_step + (window->top + y) * image->row_step +
                                 window->left * image->pixel_step) * bytes;
            for (int64_t x = 0; x < window->width; x++, to += step) {
                if (attrs->noise)
                    make_noise(args, row, &state, to);
                else
                    memcpy(to, fill + c * bytes, (size_t)bytes);
            }
        }
    }
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const random_erasing_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    plan by;
    PFD_TRY(make_plan(args->host, attrs, &in->type, &by, err));
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_window window;
        pfd_row_at(in, i, &row);
        pfd_image_grid image = pfd_image_grid_of(attrs->layout, row.shape);
        if (row.num_elements == 0 || !pfd_bernoulli(args, i, draw_whether, attrs->probability) ||
            !find_window(args, i, &by.rule, &image, &window)) {
            PFD_TRY(pfd_image_pass(args, 0, 0, i, err));
            continue;
        }
        uint8_t *out = pfd_row_to_write(args, 0, i, row.shape, err);
        if (!out) return err->status;
        memcpy(out, row.data, (size_t)(row.num_elements * pfd_dtype_size(in->type.dtype)));
        erase(args, i, &image, &window, by.fill, out);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOAT_ATTR(random_erasing_attrs, probability, "0.5", 0, 1,
                   "The probability that a part of an image is erased, drawn for each record."),
    PFD_FLOATS_ATTR(random_erasing_attrs, area, "0.02,0.33", 0, 1,
                    "Range of the erased area as a fraction of the image's area, [min, max]."),
    PFD_FLOATS_ATTR(random_erasing_attrs, aspect_ratio, "0.3,3.3", 0, 1e6,
                    "Range of the width / height of the erased part, [min, max]."),
    PFD_INT_ATTR(random_erasing_attrs, num_attempts, "10", 0, PFD_MOST_CROP_ATTEMPTS,
                 "How many times a rectangle is drawn at most, until one is smaller than the "
                 "image; if none is, the image stays as it is."),
    PFD_FLOATS_ATTR(random_erasing_attrs, fill, "0", 0, 0,
                    "The value of the erased part: one number, or one for each channel."),
    PFD_BOOL_ATTR(random_erasing_attrs, noise, "false",
                  "Whether the erased part becomes noise instead: normal numbers of mean 0 and "
                  "variance 1, or uniform numbers if images are uint8."),
    PFD_LAYOUT_ATTR(random_erasing_attrs),
};

static const pfd_port inputs[] = {
    {"in", "Images of uint8, float16, bfloat16 or float32, also ragged."},
};

const pfd_op pfd_op_random_erasing = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, pfd_same_images),
    .name = "RandomErasing",
    .doc = "Erases a random rectangle of images. "
           "The rule is that of torchvision: an area is drawn uniformly and an aspect ratio with "
           "uniform logarithm, then a place for a rectangle of this size. Ratios are width / "
           "height, torchvision's are height / width.",
    PFD_OP_ATTRS(random_erasing_attrs, attr_table),
};
