/* GaussianBlur: images made soft, by a fixed or a random amount.
 *
 * Weights of a kernel are exp(-d^2 / (2 sigma^2)), divided by their sum, where d is the distance
 * from its middle in pixels; this is torchvision's rule. Weights have 16 bits and sums are
 * integers, so results are the same on every machine, and differ from float arithmetic by one at
 * most. */
#include "core/cpu.h"
#include "core/op_shorthand.h"
#include "core/random.h"
#include "images/ops/each_image.h"
#include "images/pixels/random_draws.h"

#include <inttypes.h>
#include <string.h>

/* ---- The blur: along each row into numbers of 16 bits, then along each column ---------------- */

enum { MAX_BLUR = 255 }; /* numbers in a kernel */

typedef struct blur_kernel {
    int32_t height, width; /* pixels, odd, 1 to MAX_BLUR */
    double sigma;          /* pixels, above 0 */
} blur_kernel;

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

enum { whole = 1 << 16, block = 512 };

/* The sum of the weights is 1 << 16: the middle weight gets what rounding leaves. */
static void make_weights(int32_t n, double sigma, uint32_t *weights)
{
    double exact[MAX_BLUR], sum = 0;
    int64_t left = whole;
    for (int32_t i = 0; i < n; i++) {
        double d = (i - n / 2) / sigma;
        exact[i] = pfd_exp(-0.5 * (d * d));
        sum += exact[i];
    }
    for (int32_t i = 0; i < n; i++) {
        weights[i] = (uint32_t)(exact[i] / sum * (double)whole + 0.5);
        left -= weights[i];
    }
    weights[n / 2] = (uint32_t)(weights[n / 2] + left);
}

/* The place in [0, n) whose mirror image is i. */
static int64_t mirrored(int64_t i, int64_t n)
{
    int64_t period = 2 * (n - 1);
    if (period == 0) return 0;
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : period - i;
}

PFD_INLINE void add_bytes(const uint8_t *restrict in, uint32_t weight, int64_t n,
                          uint32_t *restrict sums)
{
    for (int64_t i = 0; i < n; i++) sums[i] += weight * in[i];
}

PFD_INLINE void add_numbers(const uint16_t *restrict in, uint32_t weight, int64_t n,
                            uint32_t *restrict sums)
{
    for (int64_t i = 0; i < n; i++) sums[i] += weight * in[i];
}

/* Blurs n numbers of a row; the numbers for pixel k of the kernel begin at in + k * channels. */
PFD_INLINE void blur_row(const uint8_t *in, const uint32_t *weights, int64_t size, int64_t channels,
                         int64_t n, uint16_t *out)
{
    uint32_t sums[block];
    for (int64_t i = 0, part; i < n; i += part) {
        part = n - i < block ? n - i : block;
        for (int64_t k = 0; k < part; k++) sums[k] = 1u << 7;
        for (int64_t k = 0; k < size; k++)
            add_bytes(in + i + k * channels, weights[k], part, sums);
        for (int64_t k = 0; k < part; k++) out[i + k] = (uint16_t)(sums[k] >> 8);
    }
}

/* Blurs n numbers of columns; rows[k] has the numbers for number k of the kernel. */
PFD_INLINE void blur_columns(const uint16_t *const *rows, const uint32_t *weights, int64_t size,
                             int64_t n, uint8_t *out)
{
    uint32_t sums[block];
    for (int64_t i = 0, part; i < n; i += part) {
        part = n - i < block ? n - i : block;
        for (int64_t k = 0; k < part; k++) sums[k] = 1u << 23;
        for (int64_t k = 0; k < size; k++) add_numbers(rows[k] + i, weights[k], part, sums);
        for (int64_t k = 0; k < part; k++) out[i + k] = (uint8_t)(sums[k] >> 24);
    }
}

PFD_WITH_AVX2(PFD_TARGET_AVX2, blur_row,
              (const uint8_t *in, const uint32_t *weights, int64_t size, int64_t channels,
               int64_t n, uint16_t *out),
              (in, weights, size, channels, n, out))
PFD_WITH_AVX2(PFD_TARGET_AVX2, blur_columns,
              (const uint16_t *const *rows, const uint32_t *weights, int64_t size, int64_t n,
               uint8_t *out),
              (rows, weights, size, n, out))

/* Copies a row, with its mirrored pixels on both sides. */
static void widen(const uint8_t *in, int64_t width, int64_t channels, int64_t radius, uint8_t *out)
{
    for (int64_t x = -radius; x < 0; x++, out += channels)
        memcpy(out, in + mirrored(x, width) * channels, (size_t)channels);
    memcpy(out, in, (size_t)(width * channels));
    out += width * channels;
    for (int64_t x = width; x < width + radius; x++, out += channels)
        memcpy(out, in + mirrored(x, width) * channels, (size_t)channels);
}

static void blur_rows(const pfd_image *in, const uint32_t *weights, int64_t size, uint8_t *wide,
                      uint16_t *out)
{
    int64_t row = in->width * in->channels;
    for (int64_t y = 0; y < in->height; y++) {
        widen(in->data + y * row, in->width, in->channels, size / 2, wide);
        blur_row_best(wide, weights, size, in->channels, row, out + y * row);
    }
}

static pfd_status gaussian_blur(const pfd_compute_args *args, const pfd_image *in,
                                const blur_kernel *blur, uint8_t *out, pfd_room *room,
                                pfd_error *err)
{
    uint32_t weights[MAX_BLUR];
    const uint16_t *rows[MAX_BLUR];
    int64_t row = in->width * in->channels;
    int64_t half_bytes = in->height * row * (int64_t)sizeof(uint16_t);
    uint16_t *half =
        pfd_room_for(args, room, half_bytes + row + blur->width * in->channels, err);
    if (!half) return err->status;
    uint8_t *wide = (uint8_t *)half + half_bytes;
    make_weights(blur->width, blur->sigma, weights);
    blur_rows(in, weights, blur->width, wide, half);
    make_weights(blur->height, blur->sigma, weights);
    for (int64_t y = 0; y < in->height; y++) {
        for (int32_t k = 0; k < blur->height; k++)
            rows[k] = half + mirrored(y + k - blur->height / 2, in->height) * row;
        blur_columns_best(rows, weights, blur->height, row, out + y * row);
    }
    return PFD_OK;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

/* ---- The op ---------------------------------------------------------------------------------- */

typedef struct gaussian_blur_attrs {
    pfd_list_int64 kernel_size;
    pfd_list_float64 sigma;
    double probability;
} gaussian_blur_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const gaussian_blur_attrs *attrs = args->attrs;
    const pfd_list_int64 *size = &attrs->kernel_size;
    const pfd_list_float64 *sigma = &attrs->sigma;
    args->outputs[0] = args->inputs[0];
    if (size->size != 1 && size->size != 2)
        return args->host->fail_attr(err, "kernel_size", NULL, PFD_INVALID_ARGUMENT,
                                     " has %" PRId64 " numbers; it must be one number, or height "
                                     "and width",
                                     size->size);
    for (int64_t i = 0; i < size->size; i++)
        if (size->data[i] % 2 == 0)
            return args->host->fail_attr(err, "kernel_size", NULL, PFD_INVALID_ARGUMENT,
                                         " has the number %" PRId64 "; it must be odd",
                                         size->data[i]);
    if ((sigma->size != 1 && sigma->size != 2) || sigma->data[sigma->size - 1] < sigma->data[0])
        return args->host->fail_attr(err, "sigma", NULL, PFD_INVALID_ARGUMENT,
                                     " must be one number, or minimum and maximum");
    return pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err);
}

static pfd_status change(const pfd_compute_args *args, int64_t row, const pfd_image *in,
                         uint8_t *out, pfd_room *room, pfd_error *err)
{
    const gaussian_blur_attrs *attrs = args->attrs;
    const pfd_list_int64 *size = &attrs->kernel_size;
    const pfd_list_float64 *sigma = &attrs->sigma;
    blur_kernel blur = {
        .height = (int32_t)size->data[0],
        .width = (int32_t)size->data[size->size - 1],
        .sigma = pfd_uniform_between(args, row, 1, sigma->data[0], sigma->data[sigma->size - 1]),
    };
    return gaussian_blur(args, in, &blur, out, room, err);
}

PFD_EACH_IMAGE_COMPUTE(gaussian_blur_attrs)

static const pfd_attr attr_table[] = {
    PFD_INTS_ATTR(gaussian_blur_attrs, kernel_size, NULL, 1, MAX_BLUR,
                  "Size of the kernel in pixels: one odd number, or height and width."),
    PFD_FLOATS_ATTR(gaussian_blur_attrs, sigma, "0.1,2.0", 1e-3, 1e3,
                    "Standard deviation in pixels: one number, or [min, max], a range from which a "
                    "number is drawn for each record."),
    PFD_PROBABILITY_ATTR(gaussian_blur_attrs),
};

static const pfd_port inputs[] = {{"in", "Images, uint8 (height, width, channels), also ragged."}};

const pfd_op pfd_op_gaussian_blur = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, pfd_same_images),
    .name = "GaussianBlur",
    .doc = "Blurs images with a Gaussian kernel, as torchvision does. "
           "Beyond its border an image is mirrored, without repeating the pixels of the border. "
           "Weights have 16 bits; results differ by one at most from those of float arithmetic.",
    PFD_OP_ATTRS(gaussian_blur_attrs, attr_table),
};
