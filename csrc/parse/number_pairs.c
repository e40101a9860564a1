/* Which way of parsing pairs of decimal numbers to take. */
#include "parse/number_pairs.h"

#include "core/simd.h"

static uint64_t leave_all(const pfd_record *records, int64_t n, double *rows)
{
    (void)records;
    (void)rows;
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

pfd_pairs_fn pfd_pairs_at(int32_t simd_level)
{
#if defined(__x86_64__)
    if (simd_level >= PFD_SIMD_AVX512) return pfd_pairs_avx512;
    if (simd_level == PFD_SIMD_AVX2) return pfd_pairs_avx2;
#elif defined(__AARCH64EL__)
    if (simd_level == PFD_SIMD_NEON) return pfd_pairs_neon;
#endif
    (void)simd_level;
    return leave_all;
}

pfd_pairs_fn pfd_pairs_best(void)
{
    return pfd_pairs_at(pfd_simd_level());
}
