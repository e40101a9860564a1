/* Widens integers: plain loops, compiled once for each SIMD level. */
#include "formats/megatron/widen.h"

#include "core/cpu.h"
#include "pyflowdata/op.h"
#include "pyflowdata/pyflowdata.h"

#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* so that the compiler vectorises these loops */
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

#define WIDEN(level, target, from_type, to_type)                                                   \
    target static void from_type##_to_##to_type##_##level(const uint8_t *from, uint8_t *to,        \
                                                          int64_t n)                               \
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

#define PLAIN(from_type, to_type) WIDEN(plain, , from_type, to_type)
FOR_EVERY_PAIR(PLAIN)

#if defined(__x86_64__)
#define AVX2(from_type, to_type) WIDEN(avx2, PFD_TARGET_AVX2, from_type, to_type)
#define AVX512(from_type, to_type) WIDEN(avx512, PFD_TARGET_AVX512, from_type, to_type)
FOR_EVERY_PAIR(AVX2)
FOR_EVERY_PAIR(AVX512)
#define WAYS(pair) {pair##_plain, pair##_avx2, pair##_avx512}
#elif defined(__AARCH64EL__)
#define WAYS(pair) {pair##_plain, pair##_plain}
#else
#define WAYS(pair) {pair##_plain}
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
    {number_of_##from_type, number_of_##to_type, WAYS(from_type##_to_##to_type)},
static const struct {
    int32_t from, to;
    pfd_widen_fn widen[PFD_SIMD_MOST + 1];
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
    for (uint32_t i = 0; i < PFD_COUNT(pairs); i++)
        if (pairs[i].from == from && pairs[i].to == to) return pairs[i].widen[simd_level];
    return NULL;
}

pfd_widen_fn pfd_widen_best(int32_t from, int32_t to)
{
    return pfd_widen_at(from, to, pfd_simd_level());
}
