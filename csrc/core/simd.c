/* The vector instructions of this processor, and a way to use fewer of them. */
#include "core/simd.h"

#include "core/x86_features.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
int32_t pfd_simd_of_cpu(void)
{
    int32_t has = pfd_x86_features();
    return has & PFD_X86_AVX512 ? PFD_SIMD_AVX512
           : has & PFD_X86_AVX2 ? PFD_SIMD_AVX2
                                : PFD_SIMD_PLAIN;
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
