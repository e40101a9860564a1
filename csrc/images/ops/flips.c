/* Mirrors images by reordering their rows and pixels, and reads the input of flip codes. */
#include "images/ops/flips.h"

#include "core/cpu.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <string.h>

/* Copies n pixels in reverse order. */
PFD_INLINE void reverse(const uint8_t *in, uint8_t *out, int64_t n, int64_t pixel_bytes)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(out + (n - 1 - i) * pixel_bytes, in + i * pixel_bytes, (size_t)pixel_bytes);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Reverses five pixels of three bytes at once. Each store has a sixteenth byte, which the next
 * store or reverse() overwrites. Returns the number of pixels done. */
PFD_TARGET_AVX2 static int64_t reverse_fives(const uint8_t *in, uint8_t *out, int64_t n)
{
    const __m128i order = _mm_setr_epi8(-1, 12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2);
    int64_t i = 0;
    for (; i + 6 <= n; i += 5) {
        __m128i pixels = _mm_loadu_si128((const void *)(in + 3 * i));
        _mm_storeu_si128((void *)(out + 3 * (n - 5 - i) - 1), _mm_shuffle_epi8(pixels, order));
    }
    return i;
}
#endif

static void reverse_row(const uint8_t *in, uint8_t *out, int64_t n, int64_t pixel_bytes)
{
    int64_t done = 0;
#if defined(__x86_64__)
    if (pixel_bytes == 3 && pfd_simd_level() >= PFD_SIMD_AVX2) done = reverse_fives(in, out, n);
#endif
    in += done * pixel_bytes;
    if (pixel_bytes == 3)
        reverse(in, out, n - done, 3);
    else if (pixel_bytes == 1)
        reverse(in, out, n - done, 1);
    else if (pixel_bytes == 4)
        reverse(in, out, n - done, 4);
    else
        reverse(in, out, n - done, pixel_bytes);
}

/* Writes the image to `out`, another place, mirrored left to right, top to bottom, or both. */
static void flip_pixels(const pfd_image *image, int64_t pixel_bytes, int32_t flips, uint8_t *out)
{
    int64_t row_bytes = image->width * pixel_bytes;
    for (int64_t y = 0; y < image->height; y++, out += row_bytes) {
        int64_t row = flips & PFD_FLIP_VERTICAL ? image->height - 1 - y : y;
        const uint8_t *in = image->data + row * row_bytes;
        if (flips & PFD_FLIP_HORIZONTAL)
            reverse_row(in, out, image->width, pixel_bytes);
        else
            memcpy(out, in, (size_t)row_bytes);
    }
}

pfd_status pfd_flip_image(const pfd_compute_args *args, int64_t i, int32_t flips, pfd_error *err)
{
    const pfd_row_type *type = &args->inputs[0]->type;
    pfd_image image = pfd_image_at(args->inputs[0], i);
    if (!flips || image.height == 0 || image.width == 0) return pfd_image_pass(args, 0, 0, i, err);
    void *out = pfd_image_to_write(args, 0, i, image.height, image.width, err);
    if (!out) return err->status;
    flip_pixels(&image, image.channels * pfd_dtype_size(type->dtype), flips, out);
    return PFD_OK;
}

/* ---- Flip codes ------------------------------------------------------------------------------ */

pfd_status pfd_expect_flip_code(const pfd_infer_args *args, int32_t input, pfd_error *err)
{
    const pfd_row_type *code = &args->inputs[input];
    if (code->dtype == PFD_INT8 && (code->ndim == 0 || (code->ndim == 1 && code->shape[0] == 1)))
        return PFD_OK;
    return pfd_refuse_rows(args, input, "flip_code",
                           "they must be one number of int8, as CoinFlip makes it", err);
}

/* 0 to 3, a sum of PFD_FLIP_*; -1: unknown.  OneFlow writes 16 and 17 for 2 and 3. */
static int32_t flips_of(int8_t code)
{
    if (code >= 0 && code <= 3) return code;
    return code == 16   ? PFD_FLIP_VERTICAL
           : code == 17 ? PFD_FLIP_VERTICAL | PFD_FLIP_HORIZONTAL
                        : -1;
}

pfd_status pfd_flip_code_at(const pfd_compute_args *args, int32_t input, int64_t row,
                            int32_t *flips, pfd_error *err)
{
    int8_t code = ((const int8_t *)(const void *)args->inputs[input]->data)[row];
    *flips = flips_of(code);
    if (*flips >= 0) return PFD_OK;
    return args->host->fail_row(err, row, -1, PFD_CORRUPT_DATA,
                                "flip_code is %d; it must be 0 (as it is), 1 (left to right), 2 "
                                "(top to bottom) or 3 (both)", code);
}
