/* Widening integers: plain loops for all dtypes, vectors for those that tokens mostly have. */
#include "core/widen.h"

#include "core/dtype.h"
#include "core/simd.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define COPY(bytes)                                                                                \
    static void copy_##bytes(const uint8_t *from, uint8_t *to, int64_t n)                          \
    {                                                                                              \
        memcpy(to, from, (size_t)n * bytes);                                                       \
    }
COPY(1)
COPY(2)
COPY(4)
COPY(8)

#define WIDEN(from_type, to_type)                                                                  \
    static void from_type##_to_##to_type(const uint8_t *from, uint8_t *to, int64_t n)              \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            from_type##_t value;                                                                   \
            memcpy(&value, from + i * (int64_t)sizeof value, sizeof value);                        \
            to_type##_t wide = value;                                                              \
            memcpy(to + i * (int64_t)sizeof wide, &wide, sizeof wide);                             \
        }                                                                                          \
    }
#define FOR_EVERY_PAIR(X)                                                                          \
    X(int8, int16) X(int8, int32) X(int8, int64) X(uint8, int16) X(uint8, uint16) X(uint8, int32)  \
    X(uint8, uint32) X(uint8, int64) X(uint8, uint64) X(int16, int32) X(int16, int64)              \
    X(uint16, int32) X(uint16, uint32) X(uint16, int64) X(uint16, uint64) X(int32, int64)          \
    X(uint32, int64) X(uint32, uint64)
FOR_EVERY_PAIR(WIDEN)

#if defined(__x86_64__)
/* `at_once` numbers are loaded, widened and stored; the plain loop does the rest. */
#define VECTORS(name, target, at_once, from_type, to_type, load, widen, store)                     \
    target static void from_type##_to_##to_type##_##name(const uint8_t *from, uint8_t *to,         \
                                                         int64_t n)                                \
    {                                                                                              \
        int64_t i = 0;                                                                             \
        for (; i + at_once <= n; i += at_once)                                                     \
            store((void *)(to + i * (int64_t)sizeof(to_type##_t)),                                 \
                  widen(load((const void *)(from + i * (int64_t)sizeof(from_type##_t)))));         \
        from_type##_to_##to_type(from + i * (int64_t)sizeof(from_type##_t),                        \
                                 to + i * (int64_t)sizeof(to_type##_t), n - i);                    \
    }
#define AVX2(at_once, from_type, to_type, load, widen)                                             \
    VECTORS(avx2, __attribute__((target("avx2"))), at_once, from_type, to_type, load, widen,       \
            _mm256_storeu_si256)
#define AVX512(at_once, from_type, to_type, load, widen)                                           \
    VECTORS(avx512, __attribute__((target("avx512f,avx512bw"))), at_once, from_type, to_type,      \
            load, widen, _mm512_storeu_si512)

AVX2(4, uint16, int64, _mm_loadl_epi64, _mm256_cvtepu16_epi64)
AVX2(8, uint16, int32, _mm_loadu_si128, _mm256_cvtepu16_epi32)
AVX2(4, int32, int64, _mm_loadu_si128, _mm256_cvtepi32_epi64)
AVX512(8, uint16, int64, _mm_loadu_si128, _mm512_cvtepu16_epi64)
AVX512(16, uint16, int32, _mm256_loadu_si256, _mm512_cvtepu16_epi32)
AVX512(8, int32, int64, _mm256_loadu_si256, _mm512_cvtepi32_epi64)

static pfd_widen_fn by_vectors(int32_t from, int32_t to, int32_t level)
{
    int32_t wide = level == PFD_SIMD_AVX512;
    if (level == PFD_SIMD_PLAIN) return NULL;
    if (from == PFD_UINT16 && to == PFD_INT64)
        return wide ? uint16_to_int64_avx512 : uint16_to_int64_avx2;
    if (from == PFD_UINT16 && to == PFD_INT32)
        return wide ? uint16_to_int32_avx512 : uint16_to_int32_avx2;
    if (from == PFD_INT32 && to == PFD_INT64)
        return wide ? int32_to_int64_avx512 : int32_to_int64_avx2;
    return NULL;
}
#else
static pfd_widen_fn by_vectors(int32_t from, int32_t to, int32_t level)
{
    (void)from, (void)to, (void)level;
    return NULL;
}
#endif

enum {
    number_of_int8 = PFD_INT8,
    number_of_uint8 = PFD_UINT8,
    number_of_int16 = PFD_INT16,
    number_of_uint16 = PFD_UINT16,
    number_of_int32 = PFD_INT32,
    number_of_uint32 = PFD_UINT32,
    number_of_int64 = PFD_INT64,
    number_of_uint64 = PFD_UINT64,
};

#define ROW(from_type, to_type)                                                                    \
    {number_of_##from_type, number_of_##to_type, from_type##_to_##to_type},
static const struct {
    int32_t from, to;
    pfd_widen_fn widen;
} pairs[] = {FOR_EVERY_PAIR(ROW)};

static pfd_widen_fn copy_of(int32_t dtype)
{
    if (dtype < PFD_INT8 || dtype > PFD_UINT64) return NULL;
    int64_t bytes = pfd_dtype_size(dtype);
    return bytes == 1 ? copy_1 : bytes == 2 ? copy_2 : bytes == 4 ? copy_4 : copy_8;
}

pfd_widen_fn pfd_widen_at(int32_t from, int32_t to, int32_t simd_level)
{
    if (from == to) return copy_of(from);
    pfd_widen_fn found = by_vectors(from, to, simd_level);
    for (uint32_t i = 0; !found && i < PFD_COUNT(pairs); i++)
        if (pairs[i].from == from && pairs[i].to == to) found = pairs[i].widen;
    return found;
}

pfd_widen_fn pfd_widen_best(int32_t from, int32_t to)
{
    return pfd_widen_at(from, to, pfd_simd_level());
}
