/* core/x86_features.h -- what an x86-64 processor has and the system keeps for it.
 *
 * Asked of the processor, not by __builtin_cpu_supports(), which not every compiler's runtime has
 * (that of zig answers no).
 * THREADS  May be called from any thread.
 */
#ifndef PFD_CORE_X86_FEATURES_H
#define PFD_CORE_X86_FEATURES_H
#include <stdint.h>

#define PFD_X86_CRC32C 1 /* SSE 4.2 and PCLMULQDQ */
#define PFD_X86_AVX2 2   /* all of PFD_SIMD_AVX2, see core/simd.h */
#define PFD_X86_AVX512 4 /* all of PFD_SIMD_AVX512 */
#define PFD_X86_F16C 8

/* The sum of these; 0 on other processors. */
int32_t pfd_x86_features(void);
#endif
