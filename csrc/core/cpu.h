/* core/cpu.h -- what this process may use of the machine, and its clocks and forks.
 *
 * ERRORS   A limit that cannot be read counts as absent.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_CPU_H
#define PFD_CORE_CPU_H
#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* ---- What an x86-64 processor has ------------------------------------------------------------ */

#define PFD_X86_CRC32C 1 /* SSE 4.2 and PCLMULQDQ */
#define PFD_X86_AVX2 2   /* all of PFD_SIMD_AVX2 */
#define PFD_X86_AVX512 4 /* all of PFD_SIMD_AVX512 */
#define PFD_X86_F16C 8

/* The sum of the features that the processor has and whose registers the system saves; 0 on other
 * processors.  It does not use __builtin_cpu_supports(), which not every compiler's runtime has
 * (zig's answers no). */
int32_t pfd_x86_features(void);

/* ---- Which vector instructions to use -------------------------------------------------------- */

#define PFD_SIMD_PLAIN 0 /* C only; with SSE2 on x86-64, all of which have it */
#if defined(__x86_64__)
#define PFD_SIMD_AVX2 1   /* AVX2, FMA, BMI1, BMI2, POPCNT: x86-64-v3 */
#define PFD_SIMD_AVX512 2 /* those, and AVX-512 F, BW, CD, DQ, VL, VBMI and VBMI2 */
#define PFD_SIMD_MOST PFD_SIMD_AVX512
/* The attribute of a function that is compiled for a level. */
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

/* For code that may only be compiled inside a function with such an attribute. */
#define PFD_INLINE static inline __attribute__((always_inline))

/* Defines name_best(), which calls the inline function `name`, compiled for `target` (an attribute
 * for AVX2) where the level allows that. */
#if defined(__x86_64__)
#define PFD_WITH_AVX2(target, name, parameters, arguments)                                         \
    target static void name##_avx2 parameters { name arguments; }                                  \
    static void name##_best parameters                                                             \
    {                                                                                              \
        if (pfd_simd_level() >= PFD_SIMD_AVX2) name##_avx2 arguments;                              \
        else name arguments;                                                                       \
    }
#else
#define PFD_WITH_AVX2(target, name, parameters, arguments)                                         \
    static void name##_best parameters { name arguments; }
#endif

int32_t pfd_simd_of_cpu(void); /* the best level that the processor has */

/* The level to use: the best, or a lower one that the environment variable PYFLOWDATA_SIMD names:
 * plain, avx2 or avx512; plain or neon on ARM.  The variable is read once. */
int32_t pfd_simd_level(void);
const char *pfd_simd_name(void); /* name of that level, as in PYFLOWDATA_SIMD */

/* 1: PYFLOWDATA_SIMD is "plain"; for instructions outside the levels. */
int32_t pfd_simd_is_plain(void);

/* ---- Limits of control groups ---------------------------------------------------------------- */

/* What the control groups of this process allow it; INT64_MAX: no limit.  `root` is put before
 * every path: "" for the machine, a folder for a test. */
int64_t pfd_cgroup_cpus(const char *root);   /* how many CPUs' worth of time, rounded up */
int64_t pfd_cgroup_memory(const char *root); /* bytes */

/* How long in its life a group did not run because its quota of CPU time was used up; the longest
 * of the groups. */
int64_t pfd_cgroup_throttled_ns(const char *root);

/* ---- CPUs, memory, clocks, forks ------------------------------------------------------------- */

/* With the limits of control groups that were found by the first call in this process. */
int32_t pfd_cpu_count(void);      /* >= 1: CPU affinity, cut by the cgroup's quota (v1 and v2) */
int64_t pfd_memory_limit(void);   /* bytes: physical memory, cut by the cgroup's limit */
int64_t pfd_clock_ns(void);       /* monotonic */
int64_t pfd_unix_ns(void);        /* since 1970, which may be set to another time */
int64_t pfd_coarse_unix_ms(void); /* the same, some ms late, for a part of the cost */
int64_t pfd_thread_cpu_ns(void);  /* that the calling thread has used */
int64_t pfd_process_cpu_ns(void); /* that all threads of this process have used */
/* Times since the machine started, over all programs; 0: the kernel does not tell.  How long the
 * processors of this process's CPU affinity computed, and how long any thread waited for a
 * processor. */
int64_t pfd_machine_cpu_ns(void);
int64_t pfd_cpu_pressure_ns(void);
int64_t pfd_throttled_ns(void);   /* as pfd_cgroup_throttled_ns(); 0: there is no quota */

struct timespec pfd_timespec_of(int64_t ns);

/* A condition whose waits end by pfd_clock_ns().  The wait, with `lock` held, returns 0 after the
 * time. */
void pfd_cond_init(pthread_cond_t *cond);
int32_t pfd_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns);

/* Counts forks of this process: an object keeps the value from its creation. */
int32_t pfd_fork_generation(void);
#endif
