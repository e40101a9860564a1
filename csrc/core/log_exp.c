/* Logarithms and powers as sums of terms in double. */
#include "core/log_exp.h"

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
