/* Which loops a level of vectors has. */
#include "images/pixels/resample_kernels.h"

#include "core/cpu.h"

const pfd_resample_kernels *pfd_resample_kernels_at(int32_t level)
{
#if defined(__x86_64__)
    if (level >= PFD_SIMD_AVX2) return &pfd_resample_avx2;
#endif
    (void)level;
    return &pfd_resample_plain;
}
