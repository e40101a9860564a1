/* The vector instructions of this processor, and a way to use fewer of them. */
#include "core/simd.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
int32_t pfd_simd_of_cpu(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
        !__builtin_cpu_supports("popcnt"))
        return PFD_SIMD_PLAIN;
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512cd") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vbmi2"))
        return PFD_SIMD_AVX2;
    return PFD_SIMD_AVX512;
}
#elif defined(__AARCH64EL__)
int32_t pfd_simd_of_cpu(void)
{
    return PFD_SIMD_NEON;
}
#else
int32_t pfd_simd_of_cpu(void)
{
    return PFD_SIMD_PLAIN;
}
#endif

#if defined(__AARCH64EL__)
static const char *const names[] = {"plain", "neon"};
#else
static const char *const names[] = {"plain", "avx2", "avx512"};
#endif

static int32_t choose_level(void)
{
    const char *wanted = getenv("PYFLOWDATA_SIMD");
    int32_t best = pfd_simd_of_cpu();
    for (int32_t i = 0; wanted && i < best; i++)
        if (!strcmp(wanted, names[i])) return i;
    return best;
}

int32_t pfd_simd_level(void)
{
    static _Atomic int32_t chosen = -1; /* threads that race here choose the same one */
    int32_t level = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (level < 0) {
        level = choose_level();
        atomic_store_explicit(&chosen, level, memory_order_relaxed);
    }
    return level;
}

const char *pfd_simd_name(void)
{
    return names[pfd_simd_level()];
}

int32_t pfd_simd_is_plain(void)
{
    static _Atomic int32_t chosen = -1;
    int32_t plain = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (plain < 0) {
        const char *wanted = getenv("PYFLOWDATA_SIMD");
        plain = wanted && !strcmp(wanted, "plain");
        atomic_store_explicit(&chosen, plain, memory_order_relaxed);
    }
    return plain;
}
