/* Logarithms, powers and normal numbers of our own against those of the C library. */
#include "check.h"

#include "core/random.h"
#include "images/pixels/random_draws.h"

#include <math.h>

static void test_logarithms_and_powers(void)
{
    double worst_log = 0, worst_exp = 0;
    for (int i = 0; i < 200000; i++) {
        double u = (double)(pfd_random_bits(1, (uint64_t)i) >> 11) * 0x1p-53;
        double x = ldexp(u + 1e-9, i % 600 - 300), power = (u - 0.5) * (i % 1400);
        double log_x = log(x), exp_x = exp(power);
        worst_log = fmax(worst_log, fabs(pfd_log(x) - log_x) / fmax(1, fabs(log_x)));
        worst_exp = fmax(worst_exp, fabs(pfd_exp(power) / exp_x - 1));
    }
    CHECK(worst_log < 1e-15);
    CHECK(worst_exp < 1e-15);
    CHECK(pfd_log(1) == 0 && pfd_exp(0) == 1);
    CHECK(fabs(pfd_log(0x1p-1074) - log(0x1p-1074)) < 1e-12);
    CHECK(pfd_exp(701) == INFINITY && pfd_exp(-701) == 0 && pfd_exp(NAN) == 0);
}

static void test_normal_numbers(void)
{
    enum { pairs = 200000 };
    double moments[5] = {0}, product = 0;
    for (int i = 0; i < pairs; i++) {
        double x[2];
        pfd_normal_pair(pfd_random_bits(2, (uint64_t)i), x);
        for (int k = 0; k < 2; k++)
            for (int power = 1; power < 5; power++)
                moments[power] += pow(x[k], power) / (2 * pairs);
        product += x[0] * x[1] / pairs;
    }
    CHECK(fabs(moments[1]) < 0.01 && fabs(moments[2] - 1) < 0.02);
    CHECK(fabs(moments[3]) < 0.03 && fabs(moments[4] - 3) < 0.1);
    CHECK(fabs(product) < 0.01);
    double x[2];
    pfd_normal_pair(0, x);
    CHECK(isfinite(x[0]) && isfinite(x[1]));
    pfd_normal_pair(UINT64_MAX, x);
    CHECK(isfinite(x[0]) && isfinite(x[1]));
}

int main(void)
{
    test_logarithms_and_powers();
    test_normal_numbers();
    return report();
}
