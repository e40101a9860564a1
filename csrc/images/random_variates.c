/* Normal and beta distributed numbers. */
#include "images/random_variates.h"

#include "images/random_draws.h"
#include "images/sin_pi.h"

#include <math.h>

/* ln 2 in two parts: the first has few bits, so that its multiples are exact. */
#define LN_2_HIGH 0.693147180369123816490
#define LN_2_LOW 1.90821492927058770002e-10

/* 2 (s + s^3 / 3 + s^5 / 5 ...) with s = (m - 1) / (m + 1), of x = m * 2^exponent; |s| < 0.172. */
double pfd_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent), sum = 0;
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), square = s * s;
    for (int k = 23; k >= 1; k -= 2) {
        double higher = square * sum;
        sum = higher + 1.0 / k;
    }
    double high = exponent * LN_2_HIGH, low = exponent * LN_2_LOW, rest = 2 * s * sum;
    return high + (low + rest);
}

/* 1 + r + r^2 / 2 + r^3 / 6 ... of x = r + n ln 2; |r| < 0.35. */
double pfd_exp(double x)
{
    if (x > 700) return INFINITY;
    if (!(x >= -700)) return 0;
    double n = rint(x / (LN_2_HIGH + LN_2_LOW)), high = n * LN_2_HIGH, low = n * LN_2_LOW;
    double r = x - high - low, sum = 1;
    for (int k = 16; k >= 1; k--) {
        double higher = r * sum / k;
        sum = 1 + higher;
    }
    return ldexp(sum, (int)n);
}

/* In (0, 1), a multiple of 2^-33, from 32 random bits. */
static double open_uniform(uint32_t bits)
{
    return ((double)bits + 0.5) * 0x1p-32;
}

void pfd_normal_pair(uint64_t bits, double out[2])
{
    double distance = sqrt(-2 * pfd_log(open_uniform((uint32_t)(bits >> 32))));
    double turn = 2 * open_uniform((uint32_t)bits);
    out[0] = distance * pfd_cos_pi(turn);
    out[1] = distance * pfd_sin_pi(turn);
}

/* The logarithm of a number of Gamma(alpha): of one of Gamma(alpha + 1), times u^(1 / alpha).  The
 * former by Marsaglia and Tsang (2000), whose attempts succeed more often than 19 times of 20. */
static double log_gamma_variate(const pfd_compute_args *args, int64_t row, int64_t draw,
                                double alpha)
{
    enum { attempts = 200 };
    double d = alpha + 1 - 1.0 / 3, c = 1 / sqrt(9 * d), log_v = 0;
    double log_u = pfd_log(open_uniform((uint32_t)(pfd_draw_bits(args, row, draw) >> 32)));
    for (int64_t k = 0; k < attempts; k++) {
        double x[2];
        pfd_normal_pair(pfd_draw_bits(args, row, draw + 1 + 2 * k), x);
        double step = c * x[0], root = 1 + step;
        if (root <= 0) continue;
        double v = root * root * root, half = 0.5 * x[0] * x[0], less = d * v;
        log_v = pfd_log(v);
        double more = d * log_v, limit = half + d - less + more;
        uint64_t bits = pfd_draw_bits(args, row, draw + 2 + 2 * k);
        if (pfd_log(open_uniform((uint32_t)(bits >> 32))) < limit) break;
    }
    double boost = log_u / alpha;
    return pfd_log(d) + log_v + boost;
}

double pfd_beta(const pfd_compute_args *args, int64_t row, int64_t draw, double alpha)
{
    double first = log_gamma_variate(args, row, draw, alpha);
    double second = log_gamma_variate(args, row, draw + 500, alpha);
    return 1 / (1 + pfd_exp(second - first));
}
