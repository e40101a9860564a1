/* Rounding to odd: the last bit says that something was cut off. */
#include "core/round_to_odd.h"

#include <math.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops are there to be vectorised */
#endif

void pfd_round_double_to_odd(const double *restrict in, float *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float nearest = (float)in[i];
        double back = (double)nearest;
        uint32_t bits;
        memcpy(&bits, &nearest, sizeof bits);
        uint32_t is_finite = (bits & 0x7fffffff) < 0x7f800000;
        uint32_t moves = is_finite & (back != in[i]) & ~bits & 1;
        uint32_t is_above = fabs(back) > fabs(in[i]); /* in magnitude */
        bits += moves - 2 * (moves & is_above);
        memcpy(out + i, &bits, sizeof bits);
    }
}

enum { cut = 11, cut_bits = (1 << cut) - 1 }; /* 64 - 53 */

/* The cut bits, and the last bit that is kept instead of them. */
static inline uint64_t odd(uint64_t bits)
{
    return (bits & ~(uint64_t)cut_bits) | (uint64_t)((bits & cut_bits) != 0) << cut;
}

void pfd_round_int64_to_odd(const int64_t *restrict in, double *restrict out, int64_t n)
{
    const int64_t most = INT64_C(1) << 53;
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)(in[i] < -most || in[i] > most ? (int64_t)odd((uint64_t)in[i]) : in[i]);
}

void pfd_round_uint64_to_odd(const uint64_t *restrict in, double *restrict out, int64_t n)
{
    const uint64_t most = UINT64_C(1) << 53;
    for (int64_t i = 0; i < n; i++) out[i] = (double)(in[i] > most ? odd(in[i]) : in[i]);
}
