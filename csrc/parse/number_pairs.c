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

pfd_status pfd_parse_pairs(const pfd_record *records, int64_t n, double *rows,
                           pfd_parse_pair_fn parse, const void *ctx, pfd_error *err)
{
    pfd_pairs_fn parse_some = pfd_pairs_at(pfd_simd_level());
    for (int64_t begin = 0; begin < n; begin += PFD_PAIRS_AT_ONCE) {
        int64_t some = n - begin < PFD_PAIRS_AT_ONCE ? n - begin : PFD_PAIRS_AT_ONCE;
        uint64_t left = parse_some(records + begin, some, rows + 2 * begin);
        for (; left; left &= left - 1) {
            int64_t i = begin + __builtin_ctzll(left);
            PFD_TRY(parse(ctx, i, rows + 2 * i, err));
        }
    }
    return PFD_OK;
}
