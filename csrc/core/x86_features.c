/* What cpuid says, and which registers the system saves. */
#include "core/x86_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>

/* Bits of leaf 1, ecx. */
enum {
    pclmul = 1 << 1, fma = 1 << 12, sse42 = 1 << 20, popcnt = 1 << 23, osxsave = 1 << 27,
    avx = 1 << 28, f16c = 1 << 29
};

/* Of leaf 7, ebx, and the last two ecx. */
#define BMI (1u << 3)
#define AVX2 (1u << 5)
#define BMI2 (1u << 8)
#define AVX512F (1u << 16)
#define AVX512DQ (1u << 17)
#define AVX512CD (1u << 28)
#define AVX512BW (1u << 30)
#define AVX512VL (1u << 31)
#define AVX512VBMI (1u << 1)
#define AVX512VBMI2 (1u << 6)

/* The registers that the system saves, of XCR0. */
enum { saves_ymm = 0x6, saves_zmm = 0xe6 };

static int32_t has(uint32_t found, uint32_t wanted)
{
    return (found & wanted) == wanted;
}

static uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int32_t ask(void)
{
    uint32_t eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return 0;
    uint32_t first = ecx;
    int32_t features = has(first, sse42 | pclmul) ? PFD_X86_CRC32C : 0;
    uint32_t saved = has(first, osxsave | avx) ? saved_registers() : 0;
    if (!has(saved, saves_ymm)) return features;
    if (has(first, f16c)) features |= PFD_X86_F16C;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return features;
    if (!has(first, fma | popcnt) || !has(ebx, AVX2 | BMI | BMI2)) return features;
    features |= PFD_X86_AVX2;
    if (has(saved, saves_zmm) && has(ebx, AVX512F | AVX512DQ | AVX512CD | AVX512BW | AVX512VL) &&
        has(ecx, AVX512VBMI | AVX512VBMI2))
        features |= PFD_X86_AVX512;
    return features;
}

/* Asked once: a virtual machine takes many microseconds to answer. */
int32_t pfd_x86_features(void)
{
    static _Atomic int32_t known = -1; /* threads that race here find the same */
    int32_t features = atomic_load_explicit(&known, memory_order_relaxed);
    if (features < 0) {
        features = ask();
        atomic_store_explicit(&known, features, memory_order_relaxed);
    }
    return features;
}
#else
int32_t pfd_x86_features(void)
{
    return 0;
}
#endif
