/* Mirrored images: rows in another order, pixels in another order. */
#include "images/pixels/flip_pixels.h"

#include "core/cpu.h"
#include "pyflowdata/pyflowdata.h"

#include <string.h>

/* n pixels in the other order. */
PFD_INLINE void reverse(const uint8_t *in, uint8_t *out, int64_t n, int64_t pixel_bytes)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(out + (n - 1 - i) * pixel_bytes, in + i * pixel_bytes, (size_t)pixel_bytes);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Five pixels of three bytes at once, and a sixteenth byte, which is written over by the next five,
 * or by reverse() for the rest. Returns how many pixels it did. */
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

void pfd_flip_pixels(const pfd_image *image, int64_t pixel_bytes, int32_t flips, uint8_t *out)
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
    pfd_flip_pixels(&image, image.channels * pfd_dtype_size(type->dtype), flips, out);
    return PFD_OK;
}
