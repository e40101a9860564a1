/* The loops of resampling with AVX2.
 *
 * A weight of 22 fractional bits is split into 2^12 high + low, whose halves and the pixels
 * fit into 16 bits: one multiplication then adds up two pixels. The sums are those of the plain
 * loops, bit for bit. */
#include "images/pixels/resample_kernels.h"

#include "core/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

enum { LOW_BITS = 12 };

/* ---- Sums of pixels of a row ----------------------------------------------------------------- */

/* Two weights that follow each other become their high halves, then their low ones. */
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

/* Each output pixel gets `most` taps, so that the loop over them is the same for all. At the end of
 * the row they begin earlier, as far as there are pixels. */
static void prepare(pfd_taps *taps, int64_t in_size)
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

/* Where the bytes of the first two of four pixels go: each channel's pair to one number of 32 bits;
 * those of the other two are two pixels farther. */
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

/* Four rows of 3 or 4 channels; of the latter and `pairs` the compiler knows the values. */
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

/* Two channels: seldom, and still with the split weights. */
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

static void resample_rows(const pfd_taps *taps, const uint8_t *const in[PFD_ROWS_AT_ONCE],
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

PFD_TARGET_AVX2 static void sum_rows(const uint8_t *const *rows, const int32_t *weights,
                                     int64_t count, uint8_t *out, int64_t n)
{
    if (n < 32) {
        pfd_resample_plain.sum_rows(rows, weights, count, out, n);
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

PFD_TARGET_AVX2 static void mix_rows(const uint8_t *a, const uint8_t *b, int32_t weight,
                                     int16_t *out, int64_t n)
{
    const __m256i weights = _mm256_set1_epi16((int16_t)weight);
    if (n < 16) {
        pfd_resample_plain.mix_rows(a, b, weight, out, n);
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

/* Eight pixels of 3 or 4 channels; the first four in the lower half of each vector. */
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

PFD_TARGET_AVX2 static void mix_pixels(const int16_t *in, const pfd_pixel_pair *pairs,
                                       uint8_t *out, int64_t width, int64_t channels)
{
    int64_t i = 0;
    for (; channels == 3 && i <= width - 8; i += 8) mix_8_pixels(in, pairs + i, out + 3 * i, 3);
    for (; channels == 4 && i <= width - 8; i += 8) mix_8_pixels(in, pairs + i, out + 4 * i, 4);
    for (; channels == 1 && i <= width - 8; i += 8) mix_8_grey(in, pairs + i, out + i);
    pfd_resample_plain.mix_pixels(in, pairs + i, out + i * channels, width - i, channels);
}

const pfd_resample_kernels pfd_resample_avx2 = {
    .prepare = prepare,
    .resample_rows = resample_rows,
    .sum_rows = sum_rows,
    .mix_rows = mix_rows,
    .mix_pixels = mix_pixels,
};
#endif
