/* images/pixels/random_draws.h -- random numbers of a record in an op: pure functions of (seed,
 * epoch, name of the node, record, draw), the same on every machine, at any thread count, batch
 * size and rank.
 *
 * A draw is the index, from 0, of a random number of the record. An op gives each of its decisions
 * its own draw; the order of the calls does not matter.
 */
#ifndef PFD_IMAGES_PIXELS_RANDOM_DRAWS_H
#define PFD_IMAGES_PIXELS_RANDOM_DRAWS_H
#include "pyflowdata/op.h"

#include <math.h>

/* 64 random bits. */
static inline uint64_t pfd_draw_bits(const pfd_compute_args *args, int64_t row, int64_t draw)
{
    return args->host->random_bits(args->random_key, args->records[row].ordinal, draw);
}

/* Uniform in [0, 1), a multiple of 2^-53. */
static inline double pfd_uniform(const pfd_compute_args *args, int64_t row, int64_t draw)
{
    return (double)(pfd_draw_bits(args, row, draw) >> 11) * 0x1p-53;
}

/* Uniform in [low, high), `low` where both are equal.  Product and sum are rounded one after the
 * other. */
static inline double pfd_uniform_between(const pfd_compute_args *args, int64_t row, int64_t draw,
                                         double low, double high)
{
    double distance = pfd_uniform(args, row, draw) * (high - low);
    return low + distance;
}

/* low * (high / low)^u, u uniform in [0, 1) with 32 bits, 0 < low <= high: the logarithm is
 * uniform. Square roots are correctly rounded everywhere, exp() and log() of the C library are
 * not. */
static inline double pfd_log_uniform(const pfd_compute_args *args, int64_t row, int64_t draw,
                                     double low, double high)
{
    uint32_t bits = (uint32_t)(pfd_draw_bits(args, row, draw) >> 32);
    double root = high / low, out = low;
    for (; bits; bits <<= 1) {
        root = sqrt(root);
        if (bits >> 31) out *= root;
    }
    return out;
}

/* An integer in [0, n), n > 0: floor(bits * n / 2^64). Probabilities are equal up to n / 2^64. */
static inline int64_t pfd_uniform_integer(const pfd_compute_args *args, int64_t row, int64_t draw,
                                          int64_t n)
{
    __extension__ typedef unsigned __int128 uint128;
    return (int64_t)(uint64_t)((uint128)pfd_draw_bits(args, row, draw) * (uint64_t)n >> 64);
}

/* 1 with this probability, else 0: never 1 for 0, always 1 for 1. */
static inline int32_t pfd_bernoulli(const pfd_compute_args *args, int64_t row, int64_t draw,
                                    double probability)
{
    return pfd_uniform(args, row, draw) < probability;
}

/* ---- Numbers that are not uniform ------------------------------------------------------------ */

/* Two normal numbers, mean 0 and variance 1, of 64 random bits (Box and Muller). */
void pfd_normal_pair(uint64_t bits, double out[2]);

/* A number of Beta(alpha, alpha), alpha > 0, from draws in [draw, draw + 1000) of the row. */
double pfd_beta(const pfd_compute_args *args, int64_t row, int64_t draw, double alpha);
#endif
