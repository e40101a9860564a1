/* Elements of numbers: their types, conversions and scaling. */
#include "core/convert.h"

#include "core/cpu.h"
#include "core/narrow_floats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Element types --------------------------------------------------------------------------- */

/* In the order of their numbers. */
#define DTYPES(X)                                                                                  \
    X(PFD_BOOL, "bool", 1)                                                                         \
    X(PFD_INT8, "int8", 1)                                                                         \
    X(PFD_UINT8, "uint8", 1)                                                                       \
    X(PFD_INT16, "int16", 2)                                                                       \
    X(PFD_UINT16, "uint16", 2)                                                                     \
    X(PFD_INT32, "int32", 4)                                                                       \
    X(PFD_UINT32, "uint32", 4)                                                                     \
    X(PFD_INT64, "int64", 8)                                                                       \
    X(PFD_UINT64, "uint64", 8)                                                                     \
    X(PFD_FLOAT16, "float16", 2)                                                                   \
    X(PFD_FLOAT32, "float32", 4)                                                                   \
    X(PFD_FLOAT64, "float64", 8)                                                                   \
    X(PFD_BFLOAT16, "bfloat16", 2)

#define CHOICE(number, name, bytes) "|" name
#define ROW(number, name, bytes) [number] = {name, bytes},

const char *const pfd_dtype_choices = &(DTYPES(CHOICE))[1];

static const struct {
    const char *name;
    int64_t bytes;
} dtypes[] = {DTYPES(ROW)};

static int32_t is_dtype(int32_t dtype)
{
    return dtype >= PFD_BOOL && dtype <= PFD_BFLOAT16;
}

const char *pfd_dtype_name(int32_t dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].name : NULL;
}

int64_t pfd_dtype_size(int32_t dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].bytes : 0;
}

int32_t pfd_dtype_parse(const char *name)
{
    for (int32_t dtype = PFD_BOOL; dtype <= PFD_BFLOAT16; dtype++)
        if (strcmp(name, dtypes[dtype].name) == 0) return dtype;
    return 0;
}

/* ---- Conversions: a loop for each pair of element types -------------------------------------- */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

#define BLOCK 512 /* elements at once, where an intermediate buffer is needed */

#define C_int8 int8_t
#define C_uint8 uint8_t
#define C_int16 int16_t
#define C_uint16 uint16_t
#define C_int32 int32_t
#define C_uint32 uint32_t
#define C_int64 int64_t
#define C_uint64 uint64_t
#define C_float32 float
#define C_float64 double

#define INTEGERS(X)                                                                                \
    X(int8, PFD_INT8)                                                                              \
    X(uint8, PFD_UINT8)                                                                            \
    X(int16, PFD_INT16)                                                                            \
    X(uint16, PFD_UINT16)                                                                          \
    X(int32, PFD_INT32)                                                                            \
    X(uint32, PFD_UINT32)                                                                          \
    X(int64, PFD_INT64)                                                                            \
    X(uint64, PFD_UINT64)
#define FLOATS(X) X(float32, PFD_FLOAT32) X(float64, PFD_FLOAT64)

#define KERNEL(from, to)                                                                           \
    static void from##_to_##to(const void *in, void *out, int64_t n)                               \
    {                                                                                              \
        const C_##from *restrict a = in;                                                           \
        C_##to *restrict b = out;                                                                  \
        for (int64_t i = 0; i < n; i++) b[i] = (C_##to)a[i];                                       \
    }

#define KERNELS(from, number)                                                                      \
    KERNEL(from, int8)                                                                             \
    KERNEL(from, uint8)                                                                            \
    KERNEL(from, int16)                                                                            \
    KERNEL(from, uint16)                                                                           \
    KERNEL(from, int32)                                                                            \
    KERNEL(from, uint32)                                                                           \
    KERNEL(from, int64)                                                                            \
    KERNEL(from, uint64)                                                                           \
    KERNEL(from, float32)                                                                          \
    KERNEL(from, float64)                                                                          \
    static void from##_to_bool(const void *in, void *out, int64_t n)                               \
    {                                                                                              \
        const C_##from *restrict a = in;                                                           \
        uint8_t *restrict b = out;                                                                 \
        for (int64_t i = 0; i < n; i++) b[i] = a[i] != 0;                                          \
    }

INTEGERS(KERNELS)
FLOATS(KERNELS)

#define KERNEL_ROW(from, number)                                                                   \
    [number] = {[PFD_BOOL] = from##_to_bool,       [PFD_INT8] = from##_to_int8,                    \
                [PFD_UINT8] = from##_to_uint8,     [PFD_INT16] = from##_to_int16,                  \
                [PFD_UINT16] = from##_to_uint16,   [PFD_INT32] = from##_to_int32,                  \
                [PFD_UINT32] = from##_to_uint32,   [PFD_INT64] = from##_to_int64,                  \
                [PFD_UINT64] = from##_to_uint64,   [PFD_FLOAT32] = from##_to_float32,              \
                [PFD_FLOAT64] = from##_to_float64},

typedef void kernel(const void *in, void *out, int64_t n);
static kernel *const kernels[PFD_FLOAT64 + 1][PFD_FLOAT64 + 1] = {
    INTEGERS(KERNEL_ROW) FLOATS(KERNEL_ROW)};

/* ---- Conversions: what fits, checked beforehand ---------------------------------------------- */

/* Integers fit from `low` to `high`, floats strictly between `below` and `above`. */
typedef struct limits {
    int64_t low;
    uint64_t high;
    double below, above;
    const char *words;
} limits;

static const limits limits_of[] = {
    [PFD_BOOL] = {INT64_MIN, UINT64_MAX, 0, 0, "true and false"},
    [PFD_INT8] = {INT8_MIN, INT8_MAX, -129, 128, "-128 to 127"},
    [PFD_UINT8] = {0, UINT8_MAX, -1, 256, "0 to 255"},
    [PFD_INT16] = {INT16_MIN, INT16_MAX, -32769, 32768, "-32768 to 32767"},
    [PFD_UINT16] = {0, UINT16_MAX, -1, 65536, "0 to 65535"},
    [PFD_INT32] = {INT32_MIN, INT32_MAX, -2147483649.0, 2147483648.0, "-2147483648 to 2147483647"},
    [PFD_UINT32] = {0, UINT32_MAX, -1, 4294967296.0, "0 to 4294967295"},
    [PFD_INT64] = {INT64_MIN, INT64_MAX, -0x1.0000000000001p63, 0x1p63,
                   "-9223372036854775808 to 9223372036854775807"},
    [PFD_UINT64] = {0, UINT64_MAX, -1, 0x1p64, "0 to 18446744073709551615"},
    [PFD_FLOAT16] = {-65519, 65519, -65520, 65520, "-65504 to 65504"},
    [PFD_FLOAT32] = {INT64_MIN, UINT64_MAX, -0x1.ffffffp127, 0x1.ffffffp127,
                     "about -3.4e38 to 3.4e38"},
    [PFD_FLOAT64] = {INT64_MIN, UINT64_MAX, 0, 0, "all that float64 is"},
    [PFD_BFLOAT16] = {INT64_MIN, UINT64_MAX, -0x1.ffp127, 0x1.ffp127, "about -3.39e38 to 3.39e38"},
};

static int32_t always_fits(int32_t from, int32_t to)
{
    if (from == to || to == PFD_BOOL || to == PFD_FLOAT64) return 1;
    if (pfd_dtype_is_float(from)) return to == PFD_FLOAT32 && pfd_is_narrow_float(from);
    return limits_of[from].low >= limits_of[to].low && limits_of[from].high <= limits_of[to].high;
}

/* Whether the kernel alone gives the right result: float dtypes overflow to infinity, integers keep
 * their low bits. */
static int32_t needs_no_look(int32_t from, int32_t to, int32_t overflow)
{
    return always_fits(from, to) ||
           (overflow == PFD_OVERFLOW_WRAP && (!pfd_dtype_is_float(from) || pfd_dtype_is_float(to)));
}

/* Returns the first element outside the limits; n: none. A first pass only finds whether there is
 * one. */
#define MISFIT_INTEGER(from, number)                                                               \
    static int64_t misfit_##from(const void *in, int64_t n, const limits *to)                      \
    {                                                                                              \
        const C_##from *a = in;                                                                    \
        const limits *own = &limits_of[number];                                                    \
        C_##from low = (C_##from)(own->low > to->low ? own->low : to->low);                        \
        C_##from high = (C_##from)(own->high < to->high ? own->high : to->high);                   \
        int64_t i = 0;                                                                             \
        uint32_t found = 0;                                                                        \
        for (int64_t k = 0; k < n; k++) found |= (uint32_t)((a[k] < low) | (a[k] > high));         \
        if (!found) return n;                                                                      \
        while (a[i] >= low && a[i] <= high) i++;                                                   \
        return i;                                                                                  \
    }
INTEGERS(MISFIT_INTEGER)

static inline int32_t fits(double value, const limits *to, int32_t to_float)
{
    return (value > to->below && value < to->above) || (to_float && !isfinite(value));
}

#define MISFIT_FLOAT(from, number)                                                                 \
    static int64_t misfit_##from(const void *in, int64_t n, const limits *to, int32_t to_float)    \
    {                                                                                              \
        const C_##from *a = in;                                                                    \
        int64_t i = 0;                                                                             \
        uint32_t found = 0;                                                                        \
        for (int64_t k = 0; k < n; k++)                                                            \
            found |= (uint32_t)!((double)a[k] > to->below) | (uint32_t)!((double)a[k] < to->above);\
        if (!found) return n;                                                                      \
        while (i < n && fits((double)a[i], to, to_float)) i++;                                     \
        return i;                                                                                  \
    }
FLOATS(MISFIT_FLOAT)

static int64_t first_outside(int32_t from, const void *in, const limits *bounds, int32_t to_float,
                             int64_t n)
{
    switch (from) {
    case PFD_INT8: return misfit_int8(in, n, bounds);
    case PFD_UINT8: return misfit_uint8(in, n, bounds);
    case PFD_INT16: return misfit_int16(in, n, bounds);
    case PFD_UINT16: return misfit_uint16(in, n, bounds);
    case PFD_INT32: return misfit_int32(in, n, bounds);
    case PFD_UINT32: return misfit_uint32(in, n, bounds);
    case PFD_INT64: return misfit_int64(in, n, bounds);
    case PFD_UINT64: return misfit_uint64(in, n, bounds);
    case PFD_FLOAT32: return misfit_float32(in, n, bounds, to_float);
    default: return misfit_float64(in, n, bounds, to_float);
    }
}

/* ---- Conversions: what does not fit ---------------------------------------------------------- */

/* Returns the bits of the integer as the low ones of 64. */
static uint64_t resolved_to_integer(double value, int32_t to, int32_t overflow)
{
    const limits *bounds = &limits_of[to];
    if (isnan(value)) return 0;
    if (value > bounds->below && value < bounds->above)
        return value >= 0x1p63 ? (uint64_t)value : (uint64_t)(int64_t)value;
    if (overflow == PFD_OVERFLOW_SATURATE) return value < 0 ? (uint64_t)bounds->low : bounds->high;
    if (isinf(value)) return 0;
    double rest = fmod(trunc(value), 0x1p64); /* exact */
    return rest < 0 ? 0 - (uint64_t)-rest : (uint64_t)rest;
}

static double resolved_to_float(double value, int32_t to)
{
    double most = to == PFD_FLOAT16 ? 65504 : to == PFD_BFLOAT16 ? 0x1.fep127 : 0x1.fffffep127;
    if (fits(value, &limits_of[to], 1)) return value;
    return value < 0 ? -most : most;
}

static uint64_t clipped(uint64_t bits, int32_t from, const limits *to)
{
    int32_t is_signed = limits_of[from].low < 0;
    if (is_signed && (int64_t)bits < 0)
        return (int64_t)bits < to->low ? (uint64_t)to->low : bits;
    return bits > to->high ? to->high : bits;
}

static void convert_fitting(int32_t from, const void *in, int32_t to, void *out, int64_t n);

/* Converts a block in which some number does not fit, for wrap and saturate. */
static void convert_resolved(int32_t from, const void *in, int32_t to, void *out, int64_t n,
                             int32_t overflow)
{
    union {
        uint64_t bits[BLOCK];
        double values[BLOCK];
    } wide, changed;
    if (!pfd_dtype_is_float(from)) {
        kernels[from][PFD_INT64](in, wide.bits, n); /* sign-extended */
        for (int64_t i = 0; i < n; i++)
            changed.bits[i] = clipped(wide.bits[i], from, &limits_of[to]);
        int32_t is_signed = limits_of[from].low < 0;
        convert_fitting(is_signed ? PFD_INT64 : PFD_UINT64, changed.bits, to, out, n);
    } else if (pfd_dtype_is_float(to)) {
        convert_fitting(from, in, PFD_FLOAT64, wide.values, n);
        for (int64_t i = 0; i < n; i++) changed.values[i] = resolved_to_float(wide.values[i], to);
        convert_fitting(PFD_FLOAT64, changed.values, to, out, n);
    } else {
        convert_fitting(from, in, PFD_FLOAT64, wide.values, n);
        for (int64_t i = 0; i < n; i++)
            changed.bits[i] = resolved_to_integer(wide.values[i], to, overflow);
        kernels[PFD_UINT64][to](changed.bits, out, n);
    }
}

/* ---- Conversions: the whole ------------------------------------------------------------------ */

/* At most BLOCK integers to float16 or bfloat16. */
static void narrow_integers(int32_t from, const void *in, int32_t to, void *out, int64_t n)
{
    float narrow[BLOCK];
    double wide[BLOCK];
    if (to == PFD_FLOAT16) { /* below 65520 they are floats, and above they are infinite anyway */
        kernels[from][PFD_FLOAT32](in, narrow, n);
        pfd_float16_from_float32(narrow, out, n);
        return;
    }
    if (from == PFD_INT64)
        pfd_round_int64_to_odd(in, wide, n);
    else if (from == PFD_UINT64)
        pfd_round_uint64_to_odd(in, wide, n);
    else
        kernels[from][PFD_FLOAT64](in, wide, n);
    pfd_narrow_from_float64(to, wide, out, n);
}

/* Not from a float of 16 bits; to one of them at most BLOCK elements. */
static void convert_fitting(int32_t from, const void *in, int32_t to, void *out, int64_t n)
{
    if (from == to) {
        memcpy(out, in, (size_t)(n * pfd_dtype_size(to)));
    } else if (!pfd_is_narrow_float(to)) {
        kernels[from][to](in, out, n);
    } else if (from == PFD_FLOAT64) {
        pfd_narrow_from_float64(to, in, out, n);
    } else if (from == PFD_FLOAT32) {
        pfd_narrow_from_float32(to, in, out, n);
    } else {
        narrow_integers(from, in, to, out, n);
    }
}

static int64_t convert_block(int32_t from, const void *in, int32_t to, void *out, int64_t n,
                             int32_t overflow)
{
    float wide[BLOCK];
    if (pfd_is_narrow_float(from)) {
        pfd_narrow_to_float32(from, in, wide, n);
        in = wide;
        from = PFD_FLOAT32;
    }
    int64_t fitting = n;
    if (!needs_no_look(from, to, overflow))
        fitting = first_outside(from, in, &limits_of[to], pfd_dtype_is_float(to), n);
    if (fitting == n || overflow == PFD_OVERFLOW_RAISE)
        convert_fitting(from, in, to, out, fitting);
    else
        convert_resolved(from, in, to, out, n, overflow);
    return overflow == PFD_OVERFLOW_RAISE ? fitting : n;
}

int64_t pfd_convert(int32_t from, const void *in, int32_t to, void *out, int64_t n,
                    int32_t overflow)
{
    const uint8_t *data = in;
    uint8_t *converted = out;
    if (from == to && to != PFD_BOOL) {
        if (n > 0) memcpy(out, in, (size_t)(n * pfd_dtype_size(to)));
        return n;
    }
    if (pfd_is_narrow_float(from) && to == PFD_FLOAT32) {
        pfd_narrow_to_float32(from, in, out, n);
        return n;
    }
    if (from == PFD_BOOL) from = PFD_UINT8;
    if (!pfd_is_narrow_float(from) && !pfd_is_narrow_float(to) &&
        needs_no_look(from, to, overflow)) {
        convert_fitting(from, in, to, out, n);
        return n;
    }
    int64_t from_bytes = pfd_dtype_size(from), to_bytes = pfd_dtype_size(to);
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t count = n - i < BLOCK ? n - i : BLOCK;
        int64_t done = convert_block(from, data + i * from_bytes, to, converted + i * to_bytes,
                                     count, overflow);
        if (done < count) return i + done;
    }
    return n;
}

int64_t pfd_convert_stored(int32_t from, const void *in, int32_t to, void *out, int64_t n)
{
    static const limits truth = {.low = 0, .high = 1};
    if (to != PFD_BOOL || from == PFD_BOOL || pfd_dtype_is_float(from))
        return pfd_convert(from, in, to, out, n,
                           pfd_dtype_is_float(to) ? PFD_OVERFLOW_WRAP : PFD_OVERFLOW_RAISE);
    int64_t fitting = first_outside(from, in, &truth, 0, n);
    kernels[from][PFD_BOOL](in, out, fitting);
    return fitting;
}

/* ---- Conversions: words for messages --------------------------------------------------------- */

int32_t pfd_is_exact(double value, int32_t dtype)
{
    _Alignas(8) uint8_t element[8];
    double back;
    if (pfd_convert(PFD_FLOAT64, &value, dtype, element, 1, PFD_OVERFLOW_RAISE) != 1) return 0;
    (void)pfd_convert(dtype, element, PFD_FLOAT64, &back, 1, PFD_OVERFLOW_WRAP);
    return back == value || (isnan(back) && isnan(value));
}

const char *pfd_format_element(int32_t dtype, const void *element, char *out, int64_t capacity)
{
    double number = 0;
    int64_t integer = 0;
    if (dtype == PFD_BOOL) {
        (void)snprintf(out, (size_t)capacity, *(const uint8_t *)element ? "true" : "false");
    } else if (pfd_dtype_is_float(dtype)) {
        (void)pfd_convert(dtype, element, PFD_FLOAT64, &number, 1, PFD_OVERFLOW_WRAP);
        (void)snprintf(out, (size_t)capacity, "%.17g", number);
    } else {
        (void)pfd_convert(dtype, element, PFD_INT64, &integer, 1, PFD_OVERFLOW_WRAP);
        if (dtype == PFD_UINT64)
            (void)snprintf(out, (size_t)capacity, "%" PRIu64, (uint64_t)integer);
        else
            (void)snprintf(out, (size_t)capacity, "%" PRId64, integer);
    }
    return out;
}

const char *pfd_dtype_limits(int32_t dtype)
{
    return limits_of[dtype].words;
}

/* ---- Scaling: two or four doubles at once, eight with AVX-512 -------------------------------- */

void pfd_scale_float64(const double *in, double *out, int64_t n, double scale, double shift)
{
    for (int64_t i = 0; i < n; i++) {
        double product = in[i] * scale;
        out[i] = product + shift;
    }
}

void pfd_scale_each_float64(const double *in, double *out, int64_t n, const double *scale,
                            const double *shift)
{
    for (int64_t i = 0; i < n; i++) {
        double product = in[i] * scale[i];
        out[i] = product + shift[i];
    }
}

/* ---- Scaling: bytes to float32 --------------------------------------------------------------- */

/* `step` 0: one scale and shift for all, 1: one for each. */
PFD_INLINE void scale_plain(const uint8_t *restrict in, float *restrict out, int64_t n,
                            const double *scale, const double *shift, int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        double product = (double)in[i] * scale[i * step];
        out[i] = (float)(product + shift[i * step]);
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* The level PFD_SIMD_AVX2 without its FMA, so that no compiler can fuse the two operations. */
#define ONLY_AVX2 __attribute__((target("avx2")))

ONLY_AVX2 PFD_INLINE __m128 scaled_avx2(__m128i four, const double *scale, const double *shift,
                                        int step)
{
    __m256d s = step ? _mm256_loadu_pd(scale) : _mm256_set1_pd(*scale);
    __m256d t = step ? _mm256_loadu_pd(shift) : _mm256_set1_pd(*shift);
    __m256d product = _mm256_mul_pd(_mm256_cvtepi32_pd(four), s);
    return _mm256_cvtpd_ps(_mm256_add_pd(product, t));
}

ONLY_AVX2 PFD_INLINE int64_t scale_avx2(const uint8_t *in, float *out, int64_t n,
                                        const double *scale, const double *shift, int step)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(in + i)));
        const double *s = scale + i * step, *t = shift + i * step;
        __m128 low = scaled_avx2(_mm256_castsi256_si128(wide), s, t, step);
        __m128 high = scaled_avx2(_mm256_extracti128_si256(wide, 1), s + 4 * step, t + 4 * step,
                                  step);
        _mm_storeu_ps(out + i, low);
        _mm_storeu_ps(out + i + 4, high);
    }
    return i;
}

ONLY_AVX2 static int64_t one_avx2(const uint8_t *in, float *out, int64_t n, const double *scale,
                                  const double *shift)
{
    return scale_avx2(in, out, n, scale, shift, 0);
}

ONLY_AVX2 static int64_t each_avx2(const uint8_t *in, float *out, int64_t n, const double *scale,
                                   const double *shift)
{
    return scale_avx2(in, out, n, scale, shift, 1);
}

PFD_TARGET_AVX512 PFD_INLINE int64_t scale_avx512(const uint8_t *in, float *out, int64_t n,
                                                  const double *scale, const double *shift,
                                                  int step)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(in + i)));
        __m512d s = step ? _mm512_loadu_pd(scale + i) : _mm512_set1_pd(*scale);
        __m512d t = step ? _mm512_loadu_pd(shift + i) : _mm512_set1_pd(*shift);
        /* With explicit rounding no compiler can fuse the two operations. */
        enum { nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
        __m512d product = _mm512_mul_round_pd(_mm512_cvtepi32_pd(wide), s, nearest);
        _mm256_storeu_ps(out + i, _mm512_cvtpd_ps(_mm512_add_round_pd(product, t, nearest)));
    }
    return i;
}

PFD_TARGET_AVX512 static int64_t one_avx512(const uint8_t *in, float *out, int64_t n,
                                            const double *scale, const double *shift)
{
    return scale_avx512(in, out, n, scale, shift, 0);
}

PFD_TARGET_AVX512 static int64_t each_avx512(const uint8_t *in, float *out, int64_t n,
                                             const double *scale, const double *shift)
{
    return scale_avx512(in, out, n, scale, shift, 1);
}
#endif

/* ---- Scaling: bytes to float32 by float32 ---------------------------------------------------- */
#if defined(__x86_64__) || defined(__AARCH64EL__)

/* A byte has 256 values: where float32 arithmetic gives the same bits as float64 for all of them,
 * it is used: it is twice as fast. The scale is then the sum of two floats, exact to 48 bits. */
typedef struct short_factors {
    float high, low, shift;
} short_factors;

enum { all_bytes = 256, worth_trying = 8 * all_bytes };

#define SHORT(name, target)                                                                        \
    target static void short_##name(const uint8_t *restrict in, float *restrict out, int64_t n,    \
                                    const short_factors *by)                                       \
    {                                                                                              \
        const float high = by->high, low = by->low, shift = by->shift;                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = __builtin_fmaf(in[i], high, __builtin_fmaf(in[i], low, shift));               \
    }

#if defined(__x86_64__)
SHORT(avx2, PFD_TARGET_AVX2)
SHORT(avx512, PFD_TARGET_AVX512)
#else
SHORT(neon, )
#endif

static void scale_short(int32_t level, const uint8_t *in, float *out, int64_t n,
                        const short_factors *by)
{
#if defined(__x86_64__)
    (level >= PFD_SIMD_AVX512 ? short_avx512 : short_avx2)(in, out, n, by);
#else
    (void)level;
    short_neon(in, out, n, by);
#endif
}

static int64_t scale_long(int32_t level, const uint8_t *in, float *out, int64_t n,
                          const double *scale, const double *shift)
{
#if defined(__x86_64__)
    return (level >= PFD_SIMD_AVX512 ? one_avx512 : one_avx2)(in, out, n, scale, shift);
#else
    (void)level;
    scale_plain(in, out, n, scale, shift, 0);
    return n;
#endif
}

/* Returns how many elements it did: 0 where the bits would differ. */
static int64_t try_short(int32_t level, const uint8_t *in, float *out, int64_t n, double scale,
                         double shift)
{
    uint8_t bytes[all_bytes];
    float exact[all_bytes], found[all_bytes];
    short_factors by = {(float)scale, (float)(scale - (double)(float)scale), (float)shift};
    for (int i = 0; i < all_bytes; i++) bytes[i] = (uint8_t)i;
    (void)scale_long(level, bytes, exact, all_bytes, &scale, &shift);
    scale_short(level, bytes, found, all_bytes, &by);
    if (memcmp(exact, found, sizeof exact)) return 0;
    scale_short(level, in, out, n, &by);
    return n;
}
#endif

void pfd_scale_uint8(const uint8_t *in, float *out, int64_t n, double scale, double shift)
{
    int64_t i = 0;
#if defined(__x86_64__) || defined(__AARCH64EL__)
    int32_t level = pfd_simd_level();
    if (level > PFD_SIMD_PLAIN && n >= worth_trying)
        i = try_short(level, in, out, n, scale, shift);
    if (level > PFD_SIMD_PLAIN && i == 0) i = scale_long(level, in, out, n, &scale, &shift);
#endif
    scale_plain(in + i, out + i, n - i, &scale, &shift, 0);
}

void pfd_scale_each_uint8(const uint8_t *in, float *out, int64_t n, const double *scale,
                          const double *shift)
{
    int64_t i = 0;
#if defined(__x86_64__)
    int32_t level = pfd_simd_level();
    if (level >= PFD_SIMD_AVX512) i = each_avx512(in, out, n, scale, shift);
    if (level == PFD_SIMD_AVX2) i = each_avx2(in, out, n, scale, shift);
#endif
    scale_plain(in + i, out + i, n - i, scale + i, shift + i, 1);
}
