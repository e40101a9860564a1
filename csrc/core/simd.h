/* core/simd.h -- which vector instructions to use. */
#ifndef PFD_CORE_SIMD_H
#define PFD_CORE_SIMD_H
#include <stdint.h>

#define PFD_SIMD_PLAIN 0 /* C only; with SSE2 on x86-64, all of which have it */
#if defined(__x86_64__)
#define PFD_SIMD_AVX2 1   /* AVX2, FMA, BMI1, BMI2, POPCNT: x86-64-v3 */
#define PFD_SIMD_AVX512 2 /* those, and AVX-512 F, BW, CD, DQ, VL, VBMI and VBMI2 */
#define PFD_SIMD_MOST PFD_SIMD_AVX512
/* Of a function for such a level. */
#define PFD_TARGET_AVX2 __attribute__((target("avx2,fma,bmi,bmi2,popcnt")))
#define PFD_TARGET_AVX512                                                                          \
    __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,"    \
                          "avx2,fma,bmi,bmi2,popcnt")))
#elif defined(__AARCH64EL__)
#define PFD_SIMD_NEON 1 /* every aarch64 has it; big-endian builds use plain C */
#define PFD_SIMD_MOST PFD_SIMD_NEON
#else
#define PFD_SIMD_MOST PFD_SIMD_PLAIN
#endif

/* For code that may only be compiled inside a function of that target. */
#define PFD_INLINE static inline __attribute__((always_inline))

/* The best that the processor has. */
int32_t pfd_simd_of_cpu(void);

/* The one to use: the best, or a lower one that the environment variable PYFLOWDATA_SIMD names:
 * plain, avx2 or avx512; plain or neon on ARM.  It is read once. */
int32_t pfd_simd_level(void);

/* The name of that level, as PYFLOWDATA_SIMD has it. */
const char *pfd_simd_name(void);

/* 1: PYFLOWDATA_SIMD is "plain"; for instructions outside the levels. */
int32_t pfd_simd_is_plain(void);
#endif
