/* Normal and beta distributed numbers. */
#include "images/pixels/random_draws.h"

#include "core/random.h"
#include "images/pixels/sin_pi.h"

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

/* The logarithm of a number drawn from Gamma(alpha), which is a number drawn from Gamma(alpha + 1)
 * times u^(1 / alpha).  The method of Marsaglia and Tsang (2000) draws from Gamma(alpha + 1); more
 * than 19 of 20 of its attempts succeed. */
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
