/* Resampling: the weights of filters, the loops over pixels with and without AVX2, and the order of
 * rows and columns. */
#include "images/pixels/resample.h"

#include "core/cpu.h"
#include "images/pixels/sin_pi.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

pfd_status pfd_filter_of(const pfd_host *host, int32_t interpolation, int32_t antialias,
                         int32_t *filter, pfd_error *err)
{
    *filter = interpolation;
    if (antialias || interpolation == PFD_NEAREST || interpolation == PFD_AREA) return PFD_OK;
    *filter = interpolation == PFD_BILINEAR ? PFD_POINT_BILINEAR : PFD_POINT_BICUBIC;
    if (interpolation != PFD_LANCZOS) return PFD_OK;
    return host->fail_attr(err, "antialias", NULL, PFD_INVALID_ARGUMENT,
                           " is false, which interpolation='lanczos' does not support: use "
                           "'bicubic', or antialias=True");
}

/* ---- Filters, as in Pillow: in float64, with a sum of one, then rounded ---------------------- */

/* The value of a filter at x; it is zero from `support` on. */
static double weight_of(int32_t filter, double x)
{
    double a = filter == PFD_BICUBIC ? -0.5 : -0.75;
    double far = fabs(x);
    switch (filter) {
    case PFD_BILINEAR:
        return far < 1 ? 1 - far : 0;
    case PFD_LANCZOS:
        return x == 0 ? 1 : x < -3 || x >= 3 ? 0 : pfd_sinc(x) * pfd_sinc(x / 3);
    default: /* R. Keys: Cubic convolution interpolation for digital image processing, 1981 */
        if (far < 1) return ((a + 2) * far - (a + 3)) * far * far + 1;
        return far < 2 ? (((far - 5) * far + 8) * far - 4) * a : 0;
    }
}

static double support_of(int32_t filter)
{
    return filter == PFD_BILINEAR ? 1 : filter == PFD_LANCZOS ? 3 : 2;
}

/* How many source pixels one output pixel covers. */
static double scale_of(const pfd_axis *axis)
{
    return (axis->end - axis->begin) / (double)axis->out_size;
}

/* ---- One output pixel ------------------------------------------------------------------------ */

typedef struct run {
    int64_t start, count;
} run;

static run clip_run(double start, double end, int64_t in_size)
{
    int64_t from = start < 0 ? 0 : (int64_t)start;
    int64_t to = end > (double)in_size ? in_size : (int64_t)end;
    return (run){from, to - from};
}

static run antialiased(int32_t filter, const pfd_axis *axis, int64_t i, double *weights)
{
    double scale = scale_of(axis), wide = scale < 1 ? 1 : scale, narrow = 1 / wide;
    double centre = axis->begin + ((double)i + 0.5) * scale, support = support_of(filter) * wide;
    run out = clip_run(centre - support + 0.5, centre + support + 0.5, axis->in_size);
    for (int64_t j = 0; j < out.count; j++)
        weights[j] = weight_of(filter, ((double)(out.start + j) - centre + 0.5) * narrow);
    return out;
}

/* The source pixels that output pixel i covers.  A source pixel is left out if the overlap is less
 * than a millionth of it or of the output pixel: edges that should meet may differ by a rounding
 * error. */
static run covered(const pfd_axis *axis, int64_t i, double *weights)
{
    double scale = scale_of(axis), least = (scale < 1 ? scale : 1) * 1e-6;
    double from = axis->begin + (double)i * scale, to = from + scale;
    run out = clip_run(floor(from + least), ceil(to - least), axis->in_size);
    for (int64_t j = 0; j < out.count; j++) {
        double left = (double)(out.start + j), right = left + 1;
        weights[j] = (right < to ? right : to) - (left > from ? left : from);
    }
    return out;
}

/* The four source pixels nearest to pixel i; a pixel beyond the edge equals the pixel at the
 * edge. */
static run four_nearest(const pfd_axis *axis, int64_t i, double *weights)
{
    double place = axis->begin + ((double)i + 0.5) * scale_of(axis) - 0.5, first = floor(place) - 1;
    run out = clip_run(first, first + 4, axis->in_size);
    memset(weights, 0, (size_t)out.count * sizeof *weights);
    for (int64_t j = 0; j < 4; j++) {
        int64_t at = (int64_t)first + j - out.start;
        at = at < 0 ? 0 : at >= out.count ? out.count - 1 : at;
        weights[at] += weight_of(PFD_POINT_BICUBIC, first + (double)j - place);
    }
    return out;
}

static run make_run(int32_t filter, const pfd_axis *axis, int64_t i, double *weights)
{
    return filter == PFD_AREA            ? covered(axis, i, weights)
           : filter == PFD_POINT_BICUBIC ? four_nearest(axis, i, weights)
                                         : antialiased(filter, axis, i, weights);
}

/* Rounds to the nearest integer, halves away from zero. */
static int32_t fixed_point(double weight)
{
    double scaled = weight * (1 << PFD_WEIGHT_BITS);
    return (int32_t)(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

/* ---- All of an axis -------------------------------------------------------------------------- */

/* An upper bound of the taps of an output pixel; it is even. */
static int64_t most_taps(int32_t filter, const pfd_axis *axis)
{
    double scale = scale_of(axis), wide = scale < 1 ? 1 : scale;
    double most = filter == PFD_AREA            ? wide + 2
                  : filter == PFD_POINT_BICUBIC ? 4
                                                : 2 * ceil(support_of(filter) * wide) + 1;
    most = most < (double)axis->in_size ? most : (double)axis->in_size;
    return ((int64_t)most + 1) / 2 * 2;
}

int64_t pfd_taps_bytes(int32_t filter, const pfd_axis *axis)
{
    int64_t taps = most_taps(filter, axis), bytes;
    int64_t of_one = 2 * (int64_t)sizeof(int64_t) + taps * (int64_t)sizeof(int32_t);
    if (__builtin_mul_overflow(of_one, axis->out_size, &bytes)) return -1;
    return __builtin_add_overflow(bytes, taps * (int64_t)sizeof(double), &bytes) ? -1 : bytes;
}

void pfd_make_taps(int32_t filter, const pfd_axis *axis, void *memory, pfd_taps *out)
{
    int64_t stride = most_taps(filter, axis), most = 1;
    double *exact = memory;
    out->size = axis->out_size;
    out->stride = stride;
    out->starts = (void *)(exact + stride);
    out->counts = out->starts + out->size;
    out->weights = (void *)(out->counts + out->size);
    for (int64_t i = 0; i < out->size; i++) {
        run taps = make_run(filter, axis, i, exact);
        int32_t *weights = out->weights + i * stride;
        double sum = 0;
        for (int64_t j = 0; j < taps.count; j++) sum += exact[j];
        for (int64_t j = 0; j < taps.count; j++)
            weights[j] = fixed_point(sum != 0 ? exact[j] / sum : exact[j]);
        memset(weights + taps.count, 0, (size_t)(stride - taps.count) * sizeof *weights);
        out->starts[i] = taps.start;
        out->counts[i] = taps.count;
        if (taps.count > most) most = taps.count;
    }
    out->most = (most + 1) / 2 * 2;
}

/* ---- Loops without vector instructions: the vector loops must equal them --------------------- */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

static uint8_t clip(int32_t sum)
{
    int32_t value = (sum + (1 << (PFD_WEIGHT_BITS - 1))) >> PFD_WEIGHT_BITS;
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

PFD_INLINE void resample_row_plain(const pfd_taps *taps, const uint8_t *in, uint8_t *out,
                                   int64_t channels)
{
    for (int64_t i = 0; i < taps->size; i++) {
        const uint8_t *first = in + taps->starts[i] * channels;
        const int32_t *weights = taps->weights + i * taps->stride;
        for (int64_t c = 0; c < channels; c++) {
            int32_t sum = 0;
            for (int64_t j = 0; j < taps->counts[i]; j++)
                sum += weights[j] * first[j * channels + c];
            out[i * channels + c] = clip(sum);
        }
    }
}

static void resample_rows_plain(const pfd_taps *taps, const uint8_t *const in[PFD_ROWS_AT_ONCE],
                                uint8_t *const out[PFD_ROWS_AT_ONCE], int64_t channels)
{
    for (int row = 0; row < PFD_ROWS_AT_ONCE; row++) {
        if (channels == 3)
            resample_row_plain(taps, in[row], out[row], 3);
        else if (channels == 1)
            resample_row_plain(taps, in[row], out[row], 1);
        else
            resample_row_plain(taps, in[row], out[row], channels);
    }
}

static void sum_rows_plain(const uint8_t *const *rows, const int32_t *weights, int64_t count,
                           uint8_t *restrict out, int64_t n)
{
    enum { block = 256 };
    int32_t sums[block];
    for (int64_t begin = 0; begin < n; begin += block) {
        int64_t size = n - begin < block ? n - begin : block;
        for (int64_t i = 0; i < size; i++) sums[i] = 0;
        for (int64_t row = 0; row < count; row++)
            for (int64_t i = 0; i < size; i++) sums[i] += weights[row] * rows[row][begin + i];
        for (int64_t i = 0; i < size; i++) out[begin + i] = clip(sums[i]);
    }
}

static void mix_rows_plain(const uint8_t *a, const uint8_t *b, int32_t weight,
                           int16_t *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t distance = (b[i] - a[i]) * 64;
        out[i] = (int16_t)(a[i] * 64 + ((distance * weight + (1 << 14)) >> 15));
    }
}

static void mix_pixels_plain(const int16_t *in, const pfd_pixel_pair *pairs, uint8_t *out,
                             int64_t width, int64_t channels)
{
    for (int64_t i = 0; i < width; i++) {
        const int16_t *first = (const void *)((const uint8_t *)in + pairs[i].first);
        for (int64_t c = 0; c < channels; c++) {
            int32_t sum = first[c] * pairs[i].weights[0];
            sum += first[channels + c] * pairs[i].weights[1];
            out[i * channels + c] = (uint8_t)((sum + (1 << 19)) >> 20);
        }
    }
}

static const pfd_resample_kernels plain_kernels = {
    .resample_rows = resample_rows_plain,
    .sum_rows = sum_rows_plain,
    .mix_rows = mix_rows_plain,
    .mix_pixels = mix_pixels_plain,
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

/* ---- Loops with AVX2 ------------------------------------------------------------------------- */

/* The loops of resampling with AVX2.
 *
 * A weight of 22 fractional bits is split into 2^12 high + low, whose halves and the pixels
 * fit into 16 bits: one multiplication then adds up two pixels. The sums are those of the plain
 * loops, bit for bit. */

#if defined(__x86_64__)
#include <immintrin.h>

enum { LOW_BITS = 12 };

/* ---- Sums of pixels of a row ----------------------------------------------------------------- */

/* Replaces each pair of weights by their two high halves and then their two low halves. */
static void split_pairs(int32_t *weights, int64_t n)
{
    for (int64_t j = 0; j < n; j += 2) {
        uint32_t one = (uint32_t)weights[j], two = (uint32_t)weights[j + 1];
        uint32_t high = ((uint32_t)(weights[j] >> LOW_BITS) & 0xffff) |
                        (uint32_t)(weights[j + 1] >> LOW_BITS) << 16;
        uint32_t low = (one & ((1 << LOW_BITS) - 1)) | (two & ((1 << LOW_BITS) - 1)) << 16;
        weights[j] = (int32_t)high;
        weights[j + 1] = (int32_t)low;
    }
}

/* Gives each output pixel `most` taps, so that the loop over them is the same for all pixels.  Near
 * the end of the row the taps begin earlier, so that all of them are in the row. */
static void prepare_avx2(pfd_taps *taps, int64_t in_size)
{
    for (int64_t i = 0; i < taps->size; i++) {
        int32_t *weights = taps->weights + i * taps->stride;
        int64_t over = taps->starts[i] + taps->most - in_size;
        int64_t shift = over < taps->starts[i] ? over : taps->starts[i];
        if (shift > 0) {
            memmove(weights + shift, weights, (size_t)(taps->most - shift) * sizeof *weights);
            memset(weights, 0, (size_t)shift * sizeof *weights);
            taps->starts[i] -= shift;
        }
        split_pairs(weights, taps->most);
    }
}

typedef struct sums {
    __m256i high, low;
} sums;

PFD_TARGET_AVX2 PFD_INLINE sums no_sums(void)
{
    return (sums){_mm256_setzero_si256(), _mm256_set1_epi32(1 << (PFD_WEIGHT_BITS - 1))};
}

/* `pixels` has pairs of numbers of 16 bits. */
PFD_TARGET_AVX2 PFD_INLINE void add_pairs(sums *to, __m256i pixels, __m256i high, __m256i low)
{
    to->high = _mm256_add_epi32(to->high, _mm256_madd_epi16(pixels, high));
    to->low = _mm256_add_epi32(to->low, _mm256_madd_epi16(pixels, low));
}

PFD_TARGET_AVX2 PFD_INLINE __m256i total(sums of)
{
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(of.high, LOW_BITS), of.low);
    return _mm256_srai_epi32(sum, PFD_WEIGHT_BITS);
}

PFD_TARGET_AVX2 PFD_INLINE __m256i load_two(const uint8_t *one, const uint8_t *other)
{
    __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const void *)one));
    return _mm256_inserti128_si256(low, _mm_loadu_si128((const void *)other), 1);
}

/* A shuffle of the first two of four pixels: the two bytes of each channel go into one number of 32
 * bits.  second_pairs() does the same for the other two pixels. */
PFD_TARGET_AVX2 PFD_INLINE __m256i first_pairs(int64_t channels)
{
    return _mm256_broadcastsi128_si256(
        channels == 3 ? _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1)
                      : _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1));
}

PFD_TARGET_AVX2 PFD_INLINE __m256i second_pairs(int64_t channels)
{
    return _mm256_broadcastsi128_si256(
        channels == 3 ? _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1)
                      : _mm_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15,
                                      -1));
}

PFD_TARGET_AVX2 PFD_INLINE void store_pixel(uint8_t *out, __m128i pixels, int place)
{
    int32_t bytes = place ? _mm_extract_epi32(pixels, 1) : _mm_cvtsi128_si32(pixels);
    memcpy(out, &bytes, sizeof bytes);
}

/* Resamples four rows of 3 or 4 channels; the compiler knows `channels` and `pairs`. */
PFD_TARGET_AVX2 PFD_INLINE void resample_wide(const pfd_taps *taps, const uint8_t *const in[4],
                                              uint8_t *const out[4], int64_t channels,
                                              int64_t pairs)
{
    const __m256i first = first_pairs(channels), second = second_pairs(channels);
    for (int64_t i = 0; i < taps->size; i++) {
        const int32_t *weights = taps->weights + i * taps->stride;
        int64_t at = taps->starts[i] * channels;
        sums upper = no_sums(), lower = no_sums();
        for (int64_t j = 0; j < pairs; j += 2, at += 4 * channels) {
            __m256i two = load_two(in[0] + at, in[1] + at);
            __m256i others = load_two(in[2] + at, in[3] + at);
            const int32_t *w = weights + 2 * j;
            __m256i high = _mm256_set1_epi32(w[0]), low = _mm256_set1_epi32(w[1]);
            add_pairs(&upper, _mm256_shuffle_epi8(two, first), high, low);
            add_pairs(&lower, _mm256_shuffle_epi8(others, first), high, low);
            if (j + 1 == pairs) break;
            high = _mm256_set1_epi32(w[2]);
            low = _mm256_set1_epi32(w[3]);
            add_pairs(&upper, _mm256_shuffle_epi8(two, second), high, low);
            add_pairs(&lower, _mm256_shuffle_epi8(others, second), high, low);
        }
        __m256i words = _mm256_packs_epi32(total(upper), total(lower));
        __m256i bytes = _mm256_packus_epi16(words, words);
        __m128i even = _mm256_castsi256_si128(bytes), odd = _mm256_extracti128_si256(bytes, 1);
        store_pixel(out[0] + i * channels, even, 0);
        store_pixel(out[1] + i * channels, odd, 0);
        store_pixel(out[2] + i * channels, even, 1);
        store_pixel(out[3] + i * channels, odd, 1);
    }
}

#define WIDE(name, channels, pairs)                                                                \
    PFD_TARGET_AVX2 static void name(const pfd_taps *taps, const uint8_t *const in[4],             \
                                     uint8_t *const out[4])                                        \
    {                                                                                              \
        resample_wide(taps, in, out, channels, pairs);                                             \
    }

WIDE(three_channels_2, 3, 1)
WIDE(three_channels_4, 3, 2)
WIDE(three_channels_6, 3, 3)
WIDE(three_channels, 3, taps->most / 2)
WIDE(four_channels, 4, taps->most / 2)

static inline int32_t four_bytes(const uint8_t *from)
{
    int32_t out;
    memcpy(&out, from, sizeof out);
    return out;
}

/* Four rows of one channel, side by side in numbers of 32 bits. */
PFD_TARGET_AVX2 static void one_channel(const pfd_taps *taps, const uint8_t *const in[4],
                                        uint8_t *const out[4])
{
    /* The first two bytes of each number, then the last two. */
    const __m256i pairs = _mm256_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1,
                                           2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15,
                                           -1);
    const __m128i zero = _mm_setzero_si128();
    const int32_t *weights = taps->weights;
    for (int64_t i = 0; i < taps->size; i++, weights += taps->stride) {
        sums sum = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (int64_t j = 0; j < taps->most; j += 4) {
            int64_t at = taps->starts[i] + j;
            int32_t more = j + 2 < taps->most;
            __m128i pixels = _mm_cvtsi32_si128(four_bytes(in[0] + at));
            pixels = _mm_insert_epi32(pixels, four_bytes(in[1] + at), 1);
            pixels = _mm_insert_epi32(pixels, four_bytes(in[2] + at), 2);
            pixels = _mm_insert_epi32(pixels, four_bytes(in[3] + at), 3);
            __m128i high = _mm_set1_epi32(more ? weights[j + 2] : 0);
            __m128i low = _mm_set1_epi32(more ? weights[j + 3] : 0);
            add_pairs(&sum, _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(pixels), pairs),
                      _mm256_setr_m128i(_mm_set1_epi32(weights[j]), high),
                      _mm256_setr_m128i(_mm_set1_epi32(weights[j + 1]), low));
        }
        __m128i high = _mm_add_epi32(_mm256_castsi256_si128(sum.high),
                                     _mm256_extracti128_si256(sum.high, 1));
        __m128i low = _mm_add_epi32(_mm256_castsi256_si128(sum.low),
                                    _mm256_extracti128_si256(sum.low, 1));
        low = _mm_add_epi32(low, _mm_set1_epi32(1 << (PFD_WEIGHT_BITS - 1)));
        __m128i all = _mm_add_epi32(_mm_slli_epi32(high, LOW_BITS), low);
        __m128i words = _mm_packs_epi32(_mm_srai_epi32(all, PFD_WEIGHT_BITS), zero);
        uint32_t bytes = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(words, words));
        for (int row = 0; row < 4; row++) out[row][i] = (uint8_t)(bytes >> 8 * row);
    }
}

/* Two channels are rare, and have no vector loop; the weights are split all the same. */
static void two_channels(const pfd_taps *taps, const uint8_t *const in[4], uint8_t *const out[4])
{
    const int32_t *weights = taps->weights;
    for (int64_t i = 0; i < taps->size; i++, weights += taps->stride) {
        for (int64_t row = 0; row < 4; row++) {
            for (int64_t c = 0; c < 2; c++) {
                const uint8_t *first = in[row] + 2 * taps->starts[i] + c;
                int32_t sum = 1 << (PFD_WEIGHT_BITS - 1);
                for (int64_t j = 0; j < taps->most; j += 2) {
                    int32_t high = (int16_t)weights[j], low = (int16_t)weights[j + 1];
                    sum += (high * (1 << LOW_BITS) + low) * first[2 * j];
                    high = weights[j] >> 16;
                    low = weights[j + 1] >> 16;
                    sum += (high * (1 << LOW_BITS) + low) * first[2 * j + 2];
                }
                sum >>= PFD_WEIGHT_BITS;
                out[row][2 * i + c] = sum < 0 ? 0 : sum > 255 ? 255 : (uint8_t)sum;
            }
        }
    }
}

static void resample_rows_avx2(const pfd_taps *taps, const uint8_t *const in[PFD_ROWS_AT_ONCE],
                               uint8_t *const out[PFD_ROWS_AT_ONCE], int64_t channels)
{
    if (channels == 1)
        one_channel(taps, in, out);
    else if (channels == 2)
        two_channels(taps, in, out);
    else if (channels == 4)
        four_channels(taps, in, out);
    else if (taps->most == 2)
        three_channels_2(taps, in, out);
    else if (taps->most == 4)
        three_channels_4(taps, in, out);
    else if (taps->most == 6)
        three_channels_6(taps, in, out);
    else
        three_channels(taps, in, out);
}

/* ---- Sums of rows ---------------------------------------------------------------------------- */

PFD_TARGET_AVX2 PFD_INLINE void sum_32_bytes(const uint8_t *const *rows, const int32_t *weights,
                                             int64_t count, uint8_t *out, int64_t at)
{
    const __m256i zero = _mm256_setzero_si256();
    sums part[4] = {no_sums(), no_sums(), no_sums(), no_sums()};
    for (int64_t row = 0; row < count; row += 2) {
        int32_t pair[2] = {weights[row], row + 1 < count ? weights[row + 1] : 0};
        const uint8_t *other = rows[row + 1 < count ? row + 1 : row];
        split_pairs(pair, 2);
        __m256i high = _mm256_set1_epi32(pair[0]), low = _mm256_set1_epi32(pair[1]);
        __m256i a = _mm256_loadu_si256((const void *)(rows[row] + at));
        __m256i b = _mm256_loadu_si256((const void *)(other + at));
        __m256i first = _mm256_unpacklo_epi8(a, b), last = _mm256_unpackhi_epi8(a, b);
        add_pairs(&part[0], _mm256_unpacklo_epi8(first, zero), high, low);
        add_pairs(&part[1], _mm256_unpackhi_epi8(first, zero), high, low);
        add_pairs(&part[2], _mm256_unpacklo_epi8(last, zero), high, low);
        add_pairs(&part[3], _mm256_unpackhi_epi8(last, zero), high, low);
    }
    __m256i low = _mm256_packs_epi32(total(part[0]), total(part[1]));
    __m256i high = _mm256_packs_epi32(total(part[2]), total(part[3]));
    _mm256_storeu_si256((void *)(out + at), _mm256_packus_epi16(low, high));
}

PFD_TARGET_AVX2 static void sum_rows_avx2(const uint8_t *const *rows, const int32_t *weights,
                                          int64_t count, uint8_t *out, int64_t n)
{
    if (n < 32) {
        sum_rows_plain(rows, weights, count, out, n);
        return;
    }
    for (int64_t at = 0; at <= n - 32; at += 32) sum_32_bytes(rows, weights, count, out, at);
    if (n % 32) sum_32_bytes(rows, weights, count, out, n - 32);
}

/* ---- Two rows, two pixels -------------------------------------------------------------------- */

PFD_TARGET_AVX2 PFD_INLINE void mix_16_bytes(const uint8_t *a, const uint8_t *b, __m256i weight,
                                             int16_t *out)
{
    __m256i from = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)a));
    __m256i to = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)b));
    __m256i distance = _mm256_slli_epi16(_mm256_sub_epi16(to, from), 6);
    __m256i sum = _mm256_add_epi16(_mm256_slli_epi16(from, 6),
                                   _mm256_mulhrs_epi16(distance, weight));
    _mm256_storeu_si256((void *)out, sum);
}

PFD_TARGET_AVX2 static void mix_rows_avx2(const uint8_t *a, const uint8_t *b, int32_t weight,
                                          int16_t *out, int64_t n)
{
    const __m256i weights = _mm256_set1_epi16((int16_t)weight);
    if (n < 16) {
        mix_rows_plain(a, b, weight, out, n);
        return;
    }
    for (int64_t at = 0; at <= n - 16; at += 16) mix_16_bytes(a + at, b + at, weights, out + at);
    if (n % 16) mix_16_bytes(a + n - 16, b + n - 16, weights, out + n - 16);
}

PFD_TARGET_AVX2 PFD_INLINE __m256i rounded(__m256i sum)
{
    return _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(1 << 19)), 20);
}

PFD_TARGET_AVX2 PFD_INLINE __m256i weights_of_two(const pfd_pixel_pair *one,
                                                  const pfd_pixel_pair *other)
{
    int32_t weights[2];
    memcpy(&weights[0], one->weights, sizeof weights[0]);
    memcpy(&weights[1], other->weights, sizeof weights[1]);
    return _mm256_setr_m128i(_mm_set1_epi32(weights[0]), _mm_set1_epi32(weights[1]));
}

/* Mixes eight pixels of 3 or 4 channels; the first four are in the lower half of each vector. */
PFD_TARGET_AVX2 PFD_INLINE void mix_8_pixels(const int16_t *in, const pfd_pixel_pair *pairs,
                                             uint8_t *out, int64_t channels)
{
    const __m256i order = _mm256_broadcastsi128_si256(
        channels == 3 ? _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1)
                      : _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    const uint8_t *bytes = (const void *)in;
    __m256i sum[4];
    for (int k = 0; k < 4; k++) {
        __m256i pixels = load_two(bytes + pairs[k].first, bytes + pairs[k + 4].first);
        pixels = _mm256_shuffle_epi8(pixels, order);
        sum[k] = rounded(_mm256_madd_epi16(pixels, weights_of_two(&pairs[k], &pairs[k + 4])));
    }
    __m256i all = _mm256_packus_epi16(_mm256_packs_epi32(sum[0], sum[1]),
                                      _mm256_packs_epi32(sum[2], sum[3]));
    if (channels == 4) {
        _mm256_storeu_si256((void *)out, all);
        return;
    }
    const __m256i no_fourth = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    all = _mm256_shuffle_epi8(all, no_fourth);
    __m128i low = _mm256_castsi256_si128(all), high = _mm256_extracti128_si256(all, 1);
    int32_t last = _mm_extract_epi32(high, 2);
    _mm_storeu_si128((void *)out, low);
    _mm_storel_epi64((void *)(out + 12), high);
    memcpy(out + 20, &last, sizeof last);
}

PFD_TARGET_AVX2 PFD_INLINE void mix_8_grey(const int16_t *in, const pfd_pixel_pair *pairs,
                                           uint8_t *out)
{
    __m256 one = _mm256_castsi256_ps(_mm256_loadu_si256((const void *)pairs));
    __m256 other = _mm256_castsi256_ps(_mm256_loadu_si256((const void *)(pairs + 4)));
    __m256i first = _mm256_castps_si256(_mm256_shuffle_ps(one, other, 0x88));
    __m256i weights = _mm256_castps_si256(_mm256_shuffle_ps(one, other, 0xdd));
    __m256i pixels = _mm256_i32gather_epi32((const void *)in, first, 1);
    __m256i sum = rounded(_mm256_madd_epi16(pixels, weights));
    sum = _mm256_permute4x64_epi64(sum, 0xd8);
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    _mm_storel_epi64((void *)out, _mm_packus_epi16(words, words));
}

PFD_TARGET_AVX2 static void mix_pixels_avx2(const int16_t *in, const pfd_pixel_pair *pairs,
                                            uint8_t *out, int64_t width, int64_t channels)
{
    int64_t i = 0;
    for (; channels == 3 && i <= width - 8; i += 8) mix_8_pixels(in, pairs + i, out + 3 * i, 3);
    for (; channels == 4 && i <= width - 8; i += 8) mix_8_pixels(in, pairs + i, out + 4 * i, 4);
    for (; channels == 1 && i <= width - 8; i += 8) mix_8_grey(in, pairs + i, out + i);
    mix_pixels_plain(in, pairs + i, out + i * channels, width - i, channels);
}

static const pfd_resample_kernels avx2_kernels = {
    .prepare = prepare_avx2,
    .resample_rows = resample_rows_avx2,
    .sum_rows = sum_rows_avx2,
    .mix_rows = mix_rows_avx2,
    .mix_pixels = mix_pixels_avx2,
};
#endif

const pfd_resample_kernels *pfd_resample_kernels_at(int32_t level)
{
#if defined(__x86_64__)
    if (level >= PFD_SIMD_AVX2) return &avx2_kernels;
#endif
    (void)level;
    return &plain_kernels;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int64_t round_up(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Makes room for this number of bytes, which take() hands out. */
static pfd_status reserve(pfd_resampler *resampler, int64_t bytes, pfd_error *err)
{
    resampler->used = 0;
    if (bytes <= resampler->capacity) return PFD_OK;
    int64_t capacity = bytes < 2 * resampler->capacity ? 2 * resampler->capacity : bytes;
    resampler->memory = resampler->host->alloc(resampler->scratch, capacity);
    resampler->capacity = resampler->memory ? capacity : 0;
    if (resampler->memory) return PFD_OK;
    return resampler->host->fail(err, PFD_OUT_OF_MEMORY,
                                 "no memory for the %" PRId64 " bytes of tables and rows that "
                                 "resampling an image needs", bytes);
}

static void *take(pfd_resampler *resampler, int64_t bytes)
{
    void *out = resampler->memory + resampler->used;
    resampler->used += round_up(bytes);
    return out;
}

/* ---- Nearest pixels -------------------------------------------------------------------------- */

/* Steps from one output pixel to the next.  Places are added up as in Pillow, so that a place on
 * the edge between two source pixels is rounded to the same pixel. */
typedef struct stepper {
    double place, step;
    int64_t last;
} stepper;

static stepper first_step(const pfd_axis *axis)
{
    double step = (axis->end - axis->begin) / (double)axis->out_size;
    return (stepper){axis->begin + step * 0.5, step, axis->in_size - 1};
}

static int64_t take_step(stepper *at)
{
    int64_t pixel = (int64_t)at->place;
    at->place += at->step;
    return pixel < at->last ? pixel : at->last;
}

PFD_INLINE void pick_pixels(const uint8_t *in, const int32_t *offsets, uint8_t *out, int64_t width,
                            int64_t channels)
{
    for (int64_t x = 0; x < width; x++)
        memcpy(out + x * channels, in + offsets[x], (size_t)channels);
}

static pfd_status take_nearest(pfd_resampler *resampler, const pfd_image_region *in,
                               const pfd_axis *rows, const pfd_axis *columns, uint8_t *out,
                               pfd_error *err)
{
    int64_t width = columns->out_size, channels = in->channels, before = -1;
    int64_t row_bytes = width * channels;
    PFD_TRY(reserve(resampler, round_up(width * (int64_t)sizeof(int32_t)), err));
    int32_t *offsets = take(resampler, width * (int64_t)sizeof *offsets);
    stepper column = first_step(columns), row_step = first_step(rows);
    for (int64_t x = 0; x < width; x++) offsets[x] = (int32_t)(take_step(&column) * channels);
    for (int64_t y = 0; y < rows->out_size; y++, out += row_bytes) {
        int64_t row = take_step(&row_step);
        const uint8_t *from = in->data + row * in->stride;
        if (row == before)
            memcpy(out, out - row_bytes, (size_t)row_bytes);
        else if (channels == 3)
            pick_pixels(from, offsets, out, width, 3);
        else if (channels == 1)
            pick_pixels(from, offsets, out, width, 1);
        else if (channels == 4)
            pick_pixels(from, offsets, out, width, 4);
        else
            pick_pixels(from, offsets, out, width, channels);
        before = row;
    }
    return PFD_OK;
}

/* ---- Two by two pixels ----------------------------------------------------------------------- */

/* Where output pixel i lies in the source.  If `begin` and `end` are integers, no rounding moves a
 * place that is an integer. */
static double place_of(const pfd_axis *axis, int64_t i)
{
    return axis->begin + ((double)i + 0.5) * (axis->end - axis->begin) / (double)axis->out_size;
}

/* Two neighbours, and the weight of the second in [0, 1]. */
typedef struct neighbours {
    int64_t first;
    double weight;
} neighbours;

/* The pixel at the edge replaces a neighbour beyond the edge. Both neighbours are in the source,
 * unless the source has only one pixel. */
static neighbours neighbours_of(const pfd_axis *axis, int64_t i)
{
    double place = place_of(axis, i) - 0.5, first = floor(place);
    int64_t last = axis->in_size > 1 ? axis->in_size - 2 : 0;
    if (place <= 0 || axis->in_size == 1) return (neighbours){0, 0};
    if (first > (double)last) return (neighbours){last, 1};
    return (neighbours){(int64_t)first, place - first};
}

static void make_pairs(const pfd_axis *axis, int64_t channels, pfd_pixel_pair *out)
{
    int64_t origin = neighbours_of(axis, 0).first;
    for (int64_t i = 0; i < axis->out_size; i++) {
        neighbours at = neighbours_of(axis, i);
        int16_t second = (int16_t)rint(at.weight * (1 << 14));
        out[i].first = (int32_t)((at.first - origin) * channels * (int64_t)sizeof(int16_t));
        out[i].weights[0] = (int16_t)((1 << 14) - second);
        out[i].weights[1] = second;
    }
}

/* Mixes two rows of the source into one, then the neighbouring pixels of this row.  So the slower
 * loop, over pixels, runs once per output row. */
static pfd_status mix_two_by_two(pfd_resampler *resampler, const pfd_image_region *in,
                                 const pfd_axis *rows, const pfd_axis *columns, uint8_t *out,
                                 pfd_error *err)
{
    const pfd_resample_kernels *kernels = pfd_resample_kernels_at(pfd_simd_level());
    int64_t width = columns->out_size, channels = in->channels;
    int64_t first = neighbours_of(columns, 0).first;
    int64_t end = neighbours_of(columns, width - 1).first + (in->width > 1 ? 2 : 1);
    int64_t n = (end - first) * channels;
    int64_t table_bytes = width * (int64_t)sizeof(pfd_pixel_pair);
    int64_t mixed_bytes = n * (int64_t)sizeof(int16_t) + PFD_ROW_SLACK;
    PFD_TRY(reserve(resampler, round_up(table_bytes) + round_up(mixed_bytes), err));
    pfd_pixel_pair *pairs = take(resampler, table_bytes);
    int16_t *mixed = take(resampler, mixed_bytes);
    make_pairs(columns, channels, pairs);
    memset(mixed + n, 0, PFD_ROW_SLACK);
    for (int64_t y = 0; y < rows->out_size; y++) {
        neighbours at = neighbours_of(rows, y);
        int64_t other = at.first + (in->height > 1);
        double weight = rint(at.weight * (1 << 15));
        const uint8_t *one = in->data + at.first * in->stride + first * channels;
        const uint8_t *two = in->data + other * in->stride + first * channels;
        if (weight > INT16_MAX) { /* the second alone */
            one = two;
            weight = 0;
        }
        kernels->mix_rows(one, two, (int32_t)weight, mixed, n);
        kernels->mix_pixels(mixed, pairs, out + y * width * channels, width, channels);
    }
    return PFD_OK;
}

/* ---- Sums of many pixels --------------------------------------------------------------------- */

/* The source rows, resampled to the width of the output, that the next output rows need. */
typedef struct row_ring {
    const pfd_resample_kernels *kernels;
    const pfd_image_region *in;
    pfd_taps rows, columns;
    const uint8_t **sources; /* the source rows of one output row */
    int64_t reach;           /* bytes of a row that may be read */
    uint8_t *copies;         /* PFD_ROWS_AT_ONCE rows of `reach` bytes */
    uint8_t *ring;           /* `size` rows of row_bytes */
    int64_t size, row_bytes;
    int64_t next; /* the source row to resample next; earlier rows are done, or not needed */
} row_ring;

/* A row of the source, or a copy of it if reading `reach` bytes would go beyond the image. */
static const uint8_t *readable_row(const row_ring *work, int64_t row, uint8_t *copy)
{
    const pfd_image_region *in = work->in;
    int64_t last = in->height - 1, bytes = in->width * in->channels;
    if (row > last) row = last;
    const uint8_t *data = in->data + row * in->stride;
    if ((last - row) * in->stride + bytes >= work->reach) return data;
    memcpy(copy, data, (size_t)bytes);
    memset(copy + bytes, 0, (size_t)(work->reach - bytes));
    return copy;
}

static uint8_t *ring_row(const row_ring *work, int64_t row)
{
    return work->ring + row % work->size * work->row_bytes;
}

/* Resamples the rows of [begin, end) that are not in the ring. */
static void fill_ring(row_ring *work, int64_t begin, int64_t end)
{
    begin -= begin % PFD_ROWS_AT_ONCE;
    if (work->next < begin) work->next = begin;
    for (; work->next < end; work->next += PFD_ROWS_AT_ONCE) {
        const uint8_t *in[PFD_ROWS_AT_ONCE];
        uint8_t *out[PFD_ROWS_AT_ONCE];
        for (int64_t k = 0; k < PFD_ROWS_AT_ONCE; k++) {
            in[k] = readable_row(work, work->next + k, work->copies + k * work->reach);
            out[k] = ring_row(work, work->next + k);
        }
        work->kernels->resample_rows(&work->columns, in, out, work->in->channels);
    }
}

/* Computes output row y, of n bytes, from rows of the source or of the ring. */
static void sum_row(const row_ring *work, int64_t y, int32_t from_ring, uint8_t *out, int64_t n)
{
    const pfd_taps *taps = &work->rows;
    for (int64_t j = 0; j < taps->counts[y]; j++) {
        int64_t row = taps->starts[y] + j;
        work->sources[j] =
            from_ring ? ring_row(work, row) : work->in->data + row * work->in->stride;
    }
    work->kernels->sum_rows(work->sources, taps->weights + y * taps->stride, taps->counts[y], out,
                            n);
}

static void rows_only(const row_ring *work, uint8_t *out)
{
    int64_t n = work->in->width * work->in->channels;
    for (int64_t y = 0; y < work->rows.size; y++) sum_row(work, y, 0, out + y * n, n);
}

static void columns_only(row_ring *work, uint8_t *out)
{
    int64_t n = work->columns.size * work->in->channels;
    for (int64_t y = 0; y < work->in->height; y++) {
        fill_ring(work, y, y + 1);
        memcpy(out + y * n, ring_row(work, y), (size_t)n);
    }
}

static void columns_first(row_ring *work, uint8_t *out)
{
    int64_t n = work->columns.size * work->in->channels;
    for (int64_t y = 0; y < work->rows.size; y++) {
        fill_ring(work, work->rows.starts[y], work->rows.starts[y] + work->rows.counts[y]);
        sum_row(work, y, 1, out + y * n, n);
    }
}

static void rows_first(const row_ring *work, uint8_t *out)
{
    int64_t n = work->columns.size * work->in->channels;
    int64_t in_bytes = work->in->width * work->in->channels;
    const uint8_t *in[PFD_ROWS_AT_ONCE];
    uint8_t *resampled[PFD_ROWS_AT_ONCE];
    for (int64_t k = 0; k < PFD_ROWS_AT_ONCE; k++) {
        in[k] = work->copies + k * work->reach;
        resampled[k] = ring_row(work, k);
        memset(work->copies + k * work->reach, 0, (size_t)work->reach);
    }
    for (int64_t y = 0; y < work->rows.size; y += PFD_ROWS_AT_ONCE) {
        int64_t rows = work->rows.size - y;
        if (rows > PFD_ROWS_AT_ONCE) rows = PFD_ROWS_AT_ONCE;
        for (int64_t k = 0; k < rows; k++)
            sum_row(work, y + k, 0, work->copies + k * work->reach, in_bytes);
        work->kernels->resample_rows(&work->columns, in, resampled, work->in->channels);
        for (int64_t k = 0; k < rows; k++) memcpy(out + (y + k) * n, resampled[k], (size_t)n);
    }
}

/* Sets the sizes in *work.  Returns the bytes that the work needs; -1: too many for 64 bits. */
static int64_t plan_memory(int32_t filter, const pfd_axis *rows, const pfd_axis *columns,
                           row_ring *work)
{
    int64_t row_taps = pfd_taps_bytes(filter, rows), taps = pfd_taps_bytes(filter, columns);
    int64_t most_rows = most_taps(filter, rows), channels = work->in->channels, ring, sum;
    work->size = (most_rows / PFD_ROWS_AT_ONCE + 2) * PFD_ROWS_AT_ONCE;
    work->row_bytes = round_up(columns->out_size * channels + PFD_ROW_SLACK);
    work->reach = (work->in->width + most_taps(filter, columns)) * channels + PFD_ROW_SLACK;
    if (row_taps < 0 || taps < 0) return -1;
    if (__builtin_mul_overflow(work->size, work->row_bytes, &ring)) return -1;
    if (__builtin_add_overflow(row_taps, taps, &sum)) return -1;
    if (__builtin_add_overflow(sum, ring, &sum)) return -1;
    sum += PFD_ROWS_AT_ONCE * work->reach + most_rows * (int64_t)sizeof(uint8_t *);
    return sum + 5 * 64; /* each of the five terms is rounded up */
}

static int32_t is_unscaled(const pfd_axis *axis)
{
    return axis->begin <= 0 && axis->end >= (double)axis->in_size &&
           axis->in_size == axis->out_size;
}

static pfd_status sum_pixels(pfd_resampler *resampler, int32_t filter, const pfd_image_region *in,
                             const pfd_axis *rows, const pfd_axis *columns, uint8_t *out,
                             pfd_error *err)
{
    row_ring work = {.kernels = pfd_resample_kernels_at(pfd_simd_level()), .in = in};
    int64_t bytes = plan_memory(filter, rows, columns, &work);
    PFD_TRY(reserve(resampler, bytes < 0 ? INT64_MAX : bytes, err));
    pfd_make_taps(filter, rows, take(resampler, pfd_taps_bytes(filter, rows)), &work.rows);
    pfd_make_taps(filter, columns, take(resampler, pfd_taps_bytes(filter, columns)),
                  &work.columns);
    if (work.kernels->prepare) work.kernels->prepare(&work.columns, in->width);
    work.sources = take(resampler, work.rows.most * (int64_t)sizeof *work.sources);
    work.copies = take(resampler, PFD_ROWS_AT_ONCE * work.reach);
    work.ring = take(resampler, work.size * work.row_bytes);
    int64_t fewer_rows = rows->in_size - rows->out_size;
    int64_t fewer_columns = columns->in_size - columns->out_size;
    if (is_unscaled(columns))
        rows_only(&work, out);
    else if (is_unscaled(rows))
        columns_only(&work, out);
    else if (fewer_rows > 0 && fewer_rows > 2 * fewer_columns) /* as Pillow from version 13 on */
        rows_first(&work, out);
    else
        columns_first(&work, out);
    return PFD_OK;
}

/* ---- Any filter ------------------------------------------------------------------------------ */

pfd_status pfd_resample(pfd_resampler *resampler, int32_t filter, const pfd_image_region *in,
                        const pfd_box *box, uint8_t *out, int64_t height, int64_t width,
                        pfd_error *err)
{
    pfd_axis rows = {in->height, height, 0, (double)in->height};
    pfd_axis columns = {in->width, width, 0, (double)in->width};
    if (box) {
        rows.begin = box->top;
        rows.end = box->bottom;
        columns.begin = box->left;
        columns.end = box->right;
    }
    if (in->width > INT32_MAX / 16 || in->height > INT32_MAX / 16)
        return resampler->host->fail(err, PFD_UNSUPPORTED,
                                     "the image is %" PRId64 " x %" PRId64
                                     " pixels; at most %d on a side can be resampled",
                                     in->height, in->width, INT32_MAX / 16);
    if (is_unscaled(&rows) && is_unscaled(&columns)) {
        int64_t row_bytes = width * in->channels;
        for (int64_t y = 0; y < height; y++)
            memcpy(out + y * row_bytes, in->data + y * in->stride, (size_t)row_bytes);
        return PFD_OK;
    }
    if (filter == PFD_NEAREST) return take_nearest(resampler, in, &rows, &columns, out, err);
    if (filter == PFD_POINT_BILINEAR)
        return mix_two_by_two(resampler, in, &rows, &columns, out, err);
    return sum_pixels(resampler, filter, in, &rows, &columns, out, err);
}
