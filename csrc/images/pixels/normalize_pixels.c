/* Normalizing: eight pixels at once with AVX2, a channel at a time where the output is planar. */
#include "images/pixels/normalize_pixels.h"

#include "core/cpu.h"
#include "core/narrow_floats.h"

#include <float.h>
#include <inttypes.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

/* `block` pixels at once pass through a buffer, if one is needed. `period` is a number of elements:
 * a multiple of 1, 2, 3 and 4 channels and of the 8 lanes of a vector. */
enum { block = 256, period = 24 };

/* ---- Planes ---------------------------------------------------------------------------------- */

/* Normalizes n pixels of a row to `channels` runs of floats, which begin every `plane` floats. */
PFD_INLINE void plane_plain(const uint8_t *restrict in, int64_t n, int64_t channels, float mean,
                            float scale, int32_t mirror, float *restrict out)
{
    if (mirror)
        for (int64_t x = 0; x < n; x++) out[n - 1 - x] = ((float)in[x * channels] - mean) * scale;
    else
        for (int64_t x = 0; x < n; x++) out[x] = ((float)in[x * channels] - mean) * scale;
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Normalizes eight pixels at once, four in each half of a vector: a shuffle makes numbers of 32
 * bits from the bytes of a channel. Each half is a load of 16 bytes, which may read bytes after the
 * pixels; `readable` bytes may be read. Returns the number of pixels done; if mirrored, these are
 * the last pixels of `out`. */
PFD_TARGET_AVX2 PFD_INLINE int64_t planes_avx2(const pfd_normalization *how, int64_t channels,
                                               const uint8_t *in, int64_t readable, int64_t n,
                                               int32_t mirror, float *out, int64_t plane)
{
    const __m128i order = mirror ? _mm_setr_epi32(3, 2, 1, 0) : _mm_setr_epi32(0, 1, 2, 3);
    const __m128i places = _mm_mullo_epi32(order, _mm_set1_epi32((int32_t)channels));
    const __m256i first = _mm256_or_si256(_mm256_broadcastsi128_si256(places),
                                          _mm256_set1_epi32((int32_t)0x80808000));
    int64_t half = 4 * channels, x = 0;
    for (; x + 8 <= n && x * channels + half + 16 <= readable; x += 8) {
        const uint8_t *pixels = in + x * channels;
        __m128i low = _mm_loadu_si128((const void *)(pixels + (mirror ? half : 0)));
        __m128i high = _mm_loadu_si128((const void *)(pixels + (mirror ? 0 : half)));
        __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
        float *to = out + (mirror ? n - 8 - x : x);
        for (int64_t c = 0; c < channels; c++) {
            __m256i mask = _mm256_add_epi32(first, _mm256_set1_epi32((int32_t)c));
            __m256 value = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(both, mask));
            __m256 difference = _mm256_sub_ps(value, _mm256_set1_ps(how->mean[c]));
            _mm256_storeu_ps(to + c * plane,
                             _mm256_mul_ps(difference, _mm256_set1_ps(how->scale[c])));
        }
    }
    return x;
}

/* Calls planes_avx2() with a number of channels and a direction that the compiler knows. */
PFD_TARGET_AVX2 static int64_t planes_of_avx2(const pfd_normalization *how, const uint8_t *in,
                                              int64_t readable, int64_t n, int32_t mirror,
                                              float *out, int64_t plane)
{
    if (how->channels == 3)
        return mirror ? planes_avx2(how, 3, in, readable, n, 1, out, plane)
                      : planes_avx2(how, 3, in, readable, n, 0, out, plane);
    return planes_avx2(how, how->channels, in, readable, n, mirror, out, plane);
}
#endif

static void planes(const pfd_normalization *how, const uint8_t *in, int64_t readable, int64_t n,
                   int32_t mirror, float *out, int64_t plane)
{
    int64_t done = 0;
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX2)
        done = planes_of_avx2(how, in, readable, n, mirror, out, plane);
#else
    (void)readable;
#endif
    in += done * how->channels;
    out += mirror ? 0 : done;
    for (int32_t c = 0; c < how->channels && done < n; c++) {
        float mean = how->mean[c], scale = how->scale[c];
        if (how->channels == 3)
            plane_plain(in + c, n - done, 3, mean, scale, mirror, out + c * plane);
        else
            plane_plain(in + c, n - done, how->channels, mean, scale, mirror, out + c * plane);
    }
}

/* ---- Pixels ---------------------------------------------------------------------------------- */

static void elements_plain(const uint8_t *restrict in, int64_t n, const float *restrict mean,
                           const float *restrict scale, float *restrict out)
{
    for (int64_t i = 0; i < n; i += period)
        for (int64_t k = 0; k < period && i + k < n; k++)
            out[i + k] = ((float)in[i + k] - mean[k]) * scale[k];
}

static void reverse_plain(const uint8_t *restrict in, int64_t n, int64_t channels,
                          uint8_t *restrict out)
{
    for (int64_t x = 0; x < n; x++)
        for (int64_t c = 0; c < channels; c++)
            out[(n - 1 - x) * channels + c] = in[x * channels + c];
}

#if defined(__x86_64__)
/* Returns the number of elements done. */
PFD_TARGET_AVX2 static int64_t elements_avx2(const uint8_t *in, int64_t n, const float *mean,
                                             const float *scale, float *out)
{
    int64_t i = 0;
    for (; i + period <= n; i += period) {
        for (int64_t k = 0; k < period; k += 8) {
            __m128i bytes = _mm_loadl_epi64((const void *)(in + i + k));
            __m256 value = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
            __m256 difference = _mm256_sub_ps(value, _mm256_loadu_ps(mean + k));
            _mm256_storeu_ps(out + i + k, _mm256_mul_ps(difference, _mm256_loadu_ps(scale + k)));
        }
    }
    return i;
}

/* Reverses pixels from the last to the first, as many at once as fit into 16 bytes. Returns how
 * many pixels are left.  Up to `spare` bytes after the pixels are written too. */
enum { spare = 16 };
PFD_TARGET_AVX2 static int64_t reverse_avx2(const uint8_t *in, int64_t n, int64_t channels,
                                            uint8_t *out)
{
    uint8_t places[16];
    int64_t together = 16 / channels, used = together * channels;
    for (int64_t i = 0; i < 16; i++) {
        int64_t pixel = together - 1 - i / channels;
        places[i] = (uint8_t)(i < used ? 16 - used + pixel * channels + i % channels : 0x80);
    }
    __m128i order = _mm_loadu_si128((const void *)places);
    for (; n * channels >= 16; n -= together, out += used) {
        __m128i pixels = _mm_loadu_si128((const void *)(in + n * channels - 16));
        _mm_storeu_si128((void *)out, _mm_shuffle_epi8(pixels, order));
    }
    return n;
}
#else
enum { spare = 0 };
#endif

static void elements(const uint8_t *in, int64_t n, const float *mean, const float *scale,
                     float *out)
{
    int64_t done = 0;
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX2) done = elements_avx2(in, n, mean, scale, out);
#endif
    elements_plain(in + done, n - done, mean, scale, out + done);
}

static void reverse_pixels(const uint8_t *in, int64_t n, int64_t channels, uint8_t *out)
{
    int64_t left = n;
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX2) left = reverse_avx2(in, n, channels, out);
#endif
    reverse_plain(in, left, channels, out + (n - left) * channels);
}

/* ---- Images ---------------------------------------------------------------------------------- */

/* Where the n pixels from x0 on stand in a row of the output. */
static int64_t place(int64_t x0, int64_t n, int64_t width, int32_t mirror)
{
    return mirror ? width - x0 - n : x0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void planar_row16(const pfd_normalization *how, const uint8_t *in, int64_t readable,
                         int64_t width, int32_t mirror, uint16_t *out, int64_t plane)
{
    float wide[PFD_MAX_CHANNELS][block];
    for (int64_t x = 0, n; x < width; x += n) {
        int64_t skipped = x * how->channels;
        n = least(block, width - x);
        planes(how, in + skipped, readable - skipped, n, mirror, wide[0], block);
        for (int32_t c = 0; c < how->channels; c++)
            pfd_narrow_from_float32(how->dtype, wide[c],
                                    out + c * plane + place(x, n, width, mirror), n);
    }
}

static void planar(const pfd_normalization *how, const uint8_t *in, int64_t row_bytes,
                   int64_t height, int64_t width, int32_t mirror, void *out)
{
    int64_t readable = (height - 1) * row_bytes + width * how->channels, plane = height * width;
    for (int64_t y = 0; y < height; y++, in += row_bytes, readable -= row_bytes) {
        if (how->dtype == PFD_FLOAT32)
            planes(how, in, readable, width, mirror, (float *)out + y * width, plane);
        else
            planar_row16(how, in, readable, width, mirror, (uint16_t *)out + y * width, plane);
    }
}

static void interleaved(const pfd_normalization *how, const uint8_t *in, int64_t row_bytes,
                        int64_t height, int64_t width, int32_t mirror, void *out)
{
    uint8_t reversed[PFD_MAX_CHANNELS * block + spare];
    float wide[PFD_MAX_CHANNELS * block], mean[period], scale[period];
    int64_t channels = how->channels;
    for (int64_t k = 0; k < period; k++) {
        mean[k] = how->mean[k % channels];
        scale[k] = how->scale[k % channels];
    }
    for (int64_t y = 0; y < height; y++, in += row_bytes) {
        for (int64_t x = 0, n; x < width; x += n) {
            n = least(block, width - x);
            const uint8_t *pixels = in + x * channels;
            if (mirror) {
                reverse_pixels(pixels, n, channels, reversed);
                pixels = reversed;
            }
            int64_t to = (y * width + place(x, n, width, mirror)) * channels;
            float *values = how->dtype == PFD_FLOAT32 ? (float *)out + to : wide;
            elements(pixels, n * channels, mean, scale, values);
            if (how->dtype != PFD_FLOAT32)
                pfd_narrow_from_float32(how->dtype, wide, (uint16_t *)out + to, n * channels);
        }
    }
}

void pfd_normalize(const pfd_normalization *how, const uint8_t *in, int64_t row_bytes,
                   int64_t height, int64_t width, int32_t mirror, void *out)
{
    (how->is_planar ? planar : interleaved)(how, in, row_bytes, height, width, mirror, out);
}

void pfd_normalize_float32(const pfd_normalization *how, const float *in, int64_t height,
                           int64_t width, void *out)
{
    float wide[block];
    int64_t channels = how->channels, pixels = height * width;
    for (int64_t i = 0, n; i < pixels; i += n) {
        n = least(block, pixels - i);
        for (int64_t c = 0; c < channels; c++) {
            const float *from = in + i * channels + c;
            for (int64_t k = 0; k < n; k++)
                wide[k] = (from[k * channels] - how->mean[c]) * how->scale[c];
            int64_t to = how->is_planar ? c * pixels + i : i * channels + c;
            int64_t step = how->is_planar ? 1 : channels;
            if (how->dtype == PFD_FLOAT32) {
                for (int64_t k = 0; k < n; k++) ((float *)out)[to + k * step] = wide[k];
                continue;
            }
            uint16_t narrow[block];
            pfd_narrow_from_float32(how->dtype, wide, narrow, n);
            for (int64_t k = 0; k < n; k++) ((uint16_t *)out)[to + k * step] = narrow[k];
        }
    }
}

/* ---- Attrs of ops ---------------------------------------------------------------------------- */

static double element_of(const pfd_list_float64 *list, int64_t channel)
{
    return list->data[list->size == 1 ? 0 : channel];
}

static int32_t is_for(const pfd_list_float64 *list, int64_t channels)
{
    return list->size == 1 || list->size == channels;
}

static pfd_status check_numbers(const pfd_host *host, const char *attr,
                                const pfd_list_float64 *list, double low, double high,
                                pfd_error *err)
{
    for (int64_t i = 0; i < list->size; i++) {
        double number = list->data[i];
        if (low > 0 && !(number > 0))
            return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                                   " has the element %g; all must be above 0", number);
        if (!(number >= low && number <= high))
            return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                                   " has the element %g; all must be %g to %g", number, low, high);
    }
    return PFD_OK;
}

pfd_status pfd_check_mean_std(const pfd_infer_args *args, const pfd_list_float64 *mean,
                              const pfd_list_float64 *std, int64_t channels, pfd_error *err)
{
    if (!is_for(mean, channels) || !is_for(std, channels))
        return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                "mean has %" PRId64 " numbers and std has %" PRId64 "; each has "
                                "one, or one for each of the %" PRId64 " channels",
                                mean->size, std->size, channels);
    int32_t is_float64 = args->inputs[0].dtype == PFD_FLOAT64;
    double most = is_float64 ? DBL_MAX : 1e36; /* 255 times this fits into a float32 */
    PFD_TRY(check_numbers(args->host, "mean", mean, -most, most, err));
    return check_numbers(args->host, "std", std, 1 / most, most, err);
}

void pfd_set_mean_std(pfd_normalization *how, const pfd_list_float64 *mean,
                      const pfd_list_float64 *std, int64_t channels, double unit)
{
    how->channels = (int32_t)channels;
    for (int64_t c = 0; c < channels; c++) {
        how->mean[c] = (float)(element_of(mean, c) * unit);
        how->scale[c] = (float)(1 / (element_of(std, c) * unit));
    }
}

pfd_row_type pfd_normalized_type(int32_t dtype, int32_t is_planar, int64_t channels,
                                 int64_t height, int64_t width)
{
    if (is_planar)
        return (pfd_row_type){.dtype = dtype, .ndim = 3, .shape = {channels, height, width}};
    return (pfd_row_type){.dtype = dtype, .ndim = 3, .shape = {height, width, channels}};
}
