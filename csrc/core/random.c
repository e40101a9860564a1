/* Random numbers and permutations by counter, and logarithms that are the same everywhere. */
#include "core/random.h"

#include "core/cpu.h"
#include "core/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- Logarithms and powers ------------------------------------------------------------------- */

/* ln 2 in two parts: the first has few bits, so that its multiples are exact. */
#define LN_2_HIGH 0.693147180369123816490
#define LN_2_LOW 1.90821492927058770002e-10

/* 2 (s + s^3 / 3 + s^5 / 5 ...) with s = (m - 1) / (m + 1), of x = m * 2^exponent; |s| < 0.172. */
double pfd_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent), sum = 0;
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), square = s * s;
#pragma GCC unroll 12
    for (int k = 23; k >= 1; k -= 2) { /* the compiler divides */
        double higher = square * sum;
        sum = higher + 1.0 / k;
    }
    double high = exponent * LN_2_HIGH, low = exponent * LN_2_LOW, rest = 2 * s * sum;
    return high + (low + rest);
}

/* 1 + r + r^2 / 2 + r^3 / 6 ... of x = r + n ln 2; |r| < 0.35. */
double pfd_exp(double x)
{
    if (x > 700) return INFINITY;
    if (!(x >= -700)) return 0;
    double n = rint(x / (LN_2_HIGH + LN_2_LOW)), high = n * LN_2_HIGH, low = n * LN_2_LOW;
    double r = x - high - low, sum = 1;
    for (int k = 16; k >= 1; k--) {
        double higher = r * sum / k;
        sum = 1 + higher;
    }
    return ldexp(sum, (int)n);
}

/* ---- Random numbers -------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 uint128;

/* 2^64 divided by the golden ratio, odd: the step of Weyl sequences (Knuth, vol. 3, 6.4). */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* As pfd_mix64, with the constants of MurmurHash3's finalizer (A. Appleby): applying both in turn
 * does not cancel out. */
static inline uint64_t mix_murmur(uint64_t x)
{
    x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

uint64_t pfd_random_key(int64_t seed, int64_t epoch, const char *name)
{
    uint64_t hash = pfd_hash_word(pfd_hash_word(0, (uint64_t)seed), (uint64_t)epoch);
    return mix_murmur(pfd_hash_bytes(hash, name, (int64_t)strlen(name)));
}

/* The key goes in twice, so that the numbers of two keys are not one sequence shifted. */
uint64_t pfd_random_bits(uint64_t key, uint64_t counter)
{
    return mix_murmur(pfd_mix64(counter * GOLDEN + key) ^ (key >> 32 | key << 32));
}

/* D. Lemire: Fast random integer generation in an interval, 2019. */
int64_t pfd_random_below(uint64_t key, uint64_t counter, int64_t n)
{
    uint64_t range = (uint64_t)n;
    uint128 product = (uint128)pfd_random_bits(key, counter) * range;
    if ((uint64_t)product < range) {
        uint64_t threshold = (UINT64_MAX - range + 1) % range; /* 2^64 mod n */
        while ((uint64_t)product < threshold) {
            key = pfd_hash_word(key, range); /* next draw: same counter, another key */
            product = (uint128)pfd_random_bits(key, counter) * range;
        }
    }
    return (int64_t)(uint64_t)(product >> 64);
}

static int read_urandom(void *out, size_t size)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t got;
    do {
        got = read(fd, out, size);
    } while (got < 0 && errno == EINTR);
    (void)close(fd);
    return got == (ssize_t)size;
}

uint64_t pfd_random_entropy(void)
{
    uint64_t bits = 0;
    ssize_t got;
    do {
        got = getrandom(&bits, sizeof bits, 0);
    } while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof bits || read_urandom(&bits, sizeof bits)) return bits;

    /* Seeds need not be secret, only different from run to run. */
    uint64_t place = (uint64_t)(uintptr_t)&bits;
    return pfd_random_bits(pfd_hash_word(place, (uint64_t)getpid()), (uint64_t)pfd_clock_ns());
}

/* ---- Permutations ---------------------------------------------------------------------------- */

/* A keyed permutation of [0, n).
 *
 * i is written as two digits (l, r) of a mixed-radix number, l < left, r < 2^right_bits, and each
 * round adds a keyed hash of one digit to the other: a Feistel network (Luby and Rackoff, 1988)
 * over integers instead of bits, so that the domain can follow n closely.  A result outside [0, n)
 * is sent through again until it is inside: cycle walking (Black and Rogaway: Ciphers with
 * arbitrary finite domains, 2002).  As the network is a bijection of its domain, the walk ends, and
 * the result is a bijection of [0, n).
 *
 * Digits are at least 16 wide: the rounds over a narrower domain reach only some of the n! orders.
 * For n > 256 the domain exceeds n by less than 2 * sqrt(n), and few places need a second pass.
 *
 * Eight rounds: neighbours i, i + 1 stay neighbours when every second round's hashes collide, for
 * 2k rounds with probability sqrt(n)^-k.  With 6 rounds and n = 256 that is seen (5 % more such
 * pairs than in a true shuffle), with 8 it is 1 / n pairs in a whole epoch.
 *
 * All products are of 32 by 32 bits, for which vector instructions exist: 1.6 ns a place with AVX2,
 * 6 ns without; with products of 64 by 64 bits it was 16 ns. */

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__AARCH64EL__)
#include <arm_neon.h>
#endif

enum { least_width = 16, least_bits = 4 };

void pfd_permutation_init(pfd_permutation *permutation, uint64_t key, int64_t n)
{
    uint32_t width = n > 1 ? 64 - (uint32_t)__builtin_clzll((uint64_t)n - 1) : 0;
    uint32_t bits = (width + 1) / 2 > least_bits ? (width + 1) / 2 : least_bits;
    int64_t right = INT64_C(1) << bits, left = (n + right - 1) >> bits;
    permutation->n = n;
    permutation->left = left < least_width ? least_width : (uint32_t)left;
    permutation->right_bits = bits;
    for (int round = 0; round < PFD_PERMUTATION_ROUNDS; round++)
        permutation->keys[round] = pfd_random_bits(key, (uint64_t)round);
}

/* The key is factor and summand: with a fixed factor the hashes of neighbours would differ by a
 * constant, and neighbours would stay neighbours. */
static inline uint32_t hash(uint32_t digit, uint64_t key)
{
    uint64_t product = (uint64_t)(digit ^ (uint32_t)key) * ((uint32_t)(key >> 32) | 1);
    return (uint32_t)(product >> 32) ^ (uint32_t)product;
}

static inline uint64_t pass(const pfd_permutation *permutation, uint64_t i)
{
    const uint32_t left = permutation->left, bits = permutation->right_bits;
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    uint32_t l = (uint32_t)(i >> bits), r = (uint32_t)i & mask;
#pragma GCC unroll 8
    for (int round = 0; round < PFD_PERMUTATION_ROUNDS; round += 2) {
        l += (uint32_t)((uint64_t)hash(r, permutation->keys[round]) * left >> 32);
        l = l < left ? l : l - left;
        r = (r + (hash(l, permutation->keys[round + 1]) >> (32 - bits))) & mask;
    }
    return (uint64_t)l << bits | r;
}

static void permute_plain(const pfd_permutation *permutation, const int64_t *in, int64_t count,
                          int64_t *out)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t place = (uint64_t)in[i];
        do {
            place = pass(permutation, place);
        } while (place >= (uint64_t)permutation->n);
        out[i] = (int64_t)place;
    }
}

#if defined(__x86_64__) || defined(__AARCH64EL__)
/* Several places at once; returns whether any result is n or above. */
typedef int (*pass_fn)(const pfd_permutation *permutation, const int64_t *in, int64_t *out);

enum { most_at_once = 8, most_walking = 64 };

/* Sends the places out[walking[k]] through passes until all of them are inside. */
PFD_INLINE void walk(pass_fn pass_some, int64_t at_once, const pfd_permutation *permutation,
                     int64_t *walking, int64_t num_walking, int64_t *out)
{
    while (num_walking > 0) {
        int64_t left = 0;
        for (int64_t begin = 0; begin < num_walking; begin += at_once) {
            int64_t places[most_at_once] = {0}, n = num_walking - begin;
            if (n > at_once) n = at_once;
            for (int64_t k = 0; k < n; k++) places[k] = out[walking[begin + k]];
            (void)pass_some(permutation, places, places);
            for (int64_t k = 0; k < n; k++) {
                int64_t i = walking[begin + k];
                out[i] = places[k];
                walking[left] = i;
                left += places[k] >= permutation->n;
            }
        }
        num_walking = left;
    }
}

/* Walks of several places go on together, as few lanes would be busy otherwise, and without a
 * branch for each place: where n is small, half of the places walk. */
PFD_INLINE void permute_by(pass_fn pass_some, int64_t at_once, const pfd_permutation *permutation,
                           const int64_t *in, int64_t count, int64_t *out)
{
    const pfd_permutation constants = *permutation; /* `out` does not overlap it */
    int64_t walking[most_walking + most_at_once], num_walking = 0, i = 0;
    for (; i + at_once <= count; i += at_once) {
        if (!pass_some(&constants, in + i, out + i)) continue;
        for (int64_t j = i; j < i + at_once; j++) {
            walking[num_walking] = j;
            num_walking += out[j] >= constants.n;
        }
        if (num_walking < most_walking - at_once) continue;
        walk(pass_some, at_once, &constants, walking, num_walking, out);
        num_walking = 0;
    }
    for (; i < count; i++) {
        out[i] = in[i];
        walking[num_walking++] = i;
    }
    walk(pass_some, at_once, &constants, walking, num_walking, out);
}
#endif

#if defined(__AARCH64EL__)
typedef struct products_neon {
    uint32x4_t low, high; /* halves of each */
} products_neon;

PFD_INLINE products_neon multiply_neon(uint32x4_t a, uint32x4_t b)
{
    uint32x4_t first = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(a), vget_low_u32(b)));
    uint32x4_t second = vreinterpretq_u32_u64(vmull_high_u32(a, b));
    return (products_neon){vuzp1q_u32(first, second), vuzp2q_u32(first, second)};
}

PFD_INLINE uint32x4_t hash_neon(uint32x4_t digit, uint64_t key)
{
    uint32x4_t summand = vdupq_n_u32((uint32_t)key);
    products_neon product = multiply_neon(digit ^ summand, vdupq_n_u32((uint32_t)(key >> 32) | 1));
    return product.low ^ product.high;
}

PFD_INLINE int pass_neon(const pfd_permutation *permutation, const int64_t *in, int64_t *out)
{
    const int32_t bits = (int32_t)permutation->right_bits;
    const uint32x4_t left = vdupq_n_u32(permutation->left);
    const uint32x4_t mask = vdupq_n_u32((UINT32_C(1) << bits) - 1);
    const uint64x2_t last = vdupq_n_u64((uint64_t)permutation->n - 1);
    uint64x2_t first = vld1q_u64((const uint64_t *)in);
    uint64x2_t second = vld1q_u64((const uint64_t *)in + 2);
    uint32x4_t r = vuzp1q_u32(vreinterpretq_u32_u64(first), vreinterpretq_u32_u64(second)) & mask;
    first = vshlq_u64(first, vdupq_n_s64(-bits));
    second = vshlq_u64(second, vdupq_n_s64(-bits));
    uint32x4_t l = vuzp1q_u32(vreinterpretq_u32_u64(first), vreinterpretq_u32_u64(second));
#pragma GCC unroll 8
    for (int round = 0; round < PFD_PERMUTATION_ROUNDS; round += 2) {
        l += multiply_neon(hash_neon(r, permutation->keys[round]), left).high;
        l = vminq_u32(l, l - left); /* below zero is large */
        r += vshlq_u32(hash_neon(l, permutation->keys[round + 1]), vdupq_n_s32(bits - 32));
        r &= mask;
    }
    first = vshlq_u64(vmovl_u32(vget_low_u32(l)), vdupq_n_s64(bits)) | vmovl_u32(vget_low_u32(r));
    second = vshlq_u64(vmovl_high_u32(l), vdupq_n_s64(bits)) | vmovl_high_u32(r);
    vst1q_u64((uint64_t *)out, first);
    vst1q_u64((uint64_t *)out + 2, second);
    return vmaxvq_u32(vreinterpretq_u32_u64((first > last) | (second > last))) != 0;
}

static void permute_neon(const pfd_permutation *permutation, const int64_t *in, int64_t count,
                         int64_t *out)
{
    permute_by(pass_neon, 4, permutation, in, count, out);
}

#elif defined(__x86_64__)

/* In the lower half of each lane; the upper half is undefined. */
PFD_TARGET_AVX2 PFD_INLINE __m256i hash_avx2(__m256i digit, uint64_t key)
{
    __m256i summand = _mm256_set1_epi64x((int64_t)(key & UINT32_MAX));
    __m256i factor = _mm256_set1_epi64x((int64_t)(key >> 32 | 1));
    __m256i product = _mm256_mul_epu32(_mm256_xor_si256(digit, summand), factor);
    return _mm256_xor_si256(product, _mm256_srli_epi64(product, 32));
}

PFD_TARGET_AVX2 PFD_INLINE int pass_avx2(const pfd_permutation *permutation, const int64_t *in,
                                         int64_t *out)
{
    const uint32_t bits = permutation->right_bits;
    const __m128i shift = _mm_cvtsi32_si128((int)bits);
    const __m128i hash_shift = _mm_cvtsi32_si128((int)(32 - bits));
    const __m256i last = _mm256_set1_epi64x(permutation->n - 1);
    const __m256i left = _mm256_set1_epi64x((int64_t)permutation->left);
    const __m256i mask = _mm256_set1_epi64x((1LL << bits) - 1);
    __m256i i = _mm256_loadu_si256((const void *)in);
    __m256i l = _mm256_srl_epi64(i, shift), r = _mm256_and_si256(i, mask);
#pragma GCC unroll 8
    for (int round = 0; round < PFD_PERMUTATION_ROUNDS; round += 2) {
        __m256i product = _mm256_mul_epu32(hash_avx2(r, permutation->keys[round]), left);
        l = _mm256_add_epi64(l, _mm256_srli_epi64(product, 32));
        l = _mm256_min_epu32(l, _mm256_sub_epi32(l, left)); /* below zero is large */
        __m256i added = _mm256_srl_epi64(hash_avx2(l, permutation->keys[round + 1]), hash_shift);
        r = _mm256_and_si256(_mm256_add_epi64(r, added), mask);
    }
    __m256i places = _mm256_or_si256(_mm256_sll_epi64(l, shift), r);
    _mm256_storeu_si256((void *)out, places);
    return _mm256_movemask_epi8(_mm256_cmpgt_epi64(places, last));
}

PFD_TARGET_AVX2 static void permute_avx2(const pfd_permutation *permutation, const int64_t *in,
                                         int64_t count, int64_t *out)
{
    permute_by(pass_avx2, 4, permutation, in, count, out);
}

/* As hash_avx2() and pass_avx2(), with eight lanes. */
PFD_TARGET_AVX512 PFD_INLINE __m512i hash_avx512(__m512i digit, uint64_t key)
{
    __m512i summand = _mm512_set1_epi64((int64_t)(key & UINT32_MAX));
    __m512i factor = _mm512_set1_epi64((int64_t)(key >> 32 | 1));
    __m512i product = _mm512_mul_epu32(_mm512_xor_si512(digit, summand), factor);
    return _mm512_xor_si512(product, _mm512_srli_epi64(product, 32));
}

PFD_TARGET_AVX512 PFD_INLINE int pass_avx512(const pfd_permutation *permutation, const int64_t *in,
                                             int64_t *out)
{
    const uint32_t bits = permutation->right_bits;
    const __m128i shift = _mm_cvtsi32_si128((int)bits);
    const __m128i hash_shift = _mm_cvtsi32_si128((int)(32 - bits));
    const __m512i last = _mm512_set1_epi64(permutation->n - 1);
    const __m512i left = _mm512_set1_epi64((int64_t)permutation->left);
    const __m512i mask = _mm512_set1_epi64((1LL << bits) - 1);
    __m512i i = _mm512_loadu_si512(in);
    __m512i l = _mm512_srl_epi64(i, shift), r = _mm512_and_si512(i, mask);
#pragma GCC unroll 8
    for (int round = 0; round < PFD_PERMUTATION_ROUNDS; round += 2) {
        __m512i product = _mm512_mul_epu32(hash_avx512(r, permutation->keys[round]), left);
        l = _mm512_add_epi64(l, _mm512_srli_epi64(product, 32));
        l = _mm512_min_epu32(l, _mm512_sub_epi32(l, left));
        __m512i added = _mm512_srl_epi64(hash_avx512(l, permutation->keys[round + 1]), hash_shift);
        r = _mm512_and_si512(_mm512_add_epi64(r, added), mask);
    }
    __m512i places = _mm512_or_si512(_mm512_sll_epi64(l, shift), r);
    _mm512_storeu_si512(out, places);
    return _mm512_cmpgt_epi64_mask(places, last);
}

PFD_TARGET_AVX512 static void permute_avx512(const pfd_permutation *permutation, const int64_t *in,
                                             int64_t count, int64_t *out)
{
    permute_by(pass_avx512, 8, permutation, in, count, out);
}
#endif

void pfd_permute(const pfd_permutation *permutation, const int64_t *in, int64_t count, int64_t *out)
{
    if (count == 1) { /* vectors have a longer latency */
        permute_plain(permutation, in, 1, out);
        return;
    }
#if defined(__AARCH64EL__)
    if (pfd_simd_level() == PFD_SIMD_NEON) {
        permute_neon(permutation, in, count, out);
        return;
    }
#elif defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX512) {
        permute_avx512(permutation, in, count, out);
        return;
    }
    if (pfd_simd_level() >= PFD_SIMD_AVX2) {
        permute_avx2(permutation, in, count, out);
        return;
    }
#endif
    permute_plain(permutation, in, count, out);
}
