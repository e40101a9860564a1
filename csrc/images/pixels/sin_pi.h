/* images/pixels/sin_pi.h -- sin(pi x) by sums of powers: the same bits with every C library. */
#ifndef PFD_IMAGES_PIXELS_SIN_PI_H
#define PFD_IMAGES_PIXELS_SIN_PI_H
#include <math.h>
#include <stdint.h>

#define PFD_PI 3.14159265358979323846

/* 1 - x f8 (1 - x f7 (1 - ...)). */
static inline double pfd_sum_of_powers(double x, const double factors[9])
{
    double rest = 1;
    for (int i = 0; i < 9; i++) {
        double term = x * factors[i] * rest;
        rest = 1 - term;
    }
    return rest;
}

/* Taylor's sums up to x^18, for squares of at most (pi / 4)^2: the rest is below 1e-19. */
static inline double pfd_cos_of_square(double square)
{
    static const double factors[] = {1 / 306.0, 1 / 240.0, 1 / 182.0, 1 / 132.0, 1 / 90.0,
                                     1 / 56.0,  1 / 30.0,  1 / 12.0,  1 / 2.0};
    return pfd_sum_of_powers(square, factors);
}

/* sin(x) / x. */
static inline double pfd_sinc_of_square(double square)
{
    static const double factors[] = {1 / 342.0, 1 / 272.0, 1 / 210.0, 1 / 156.0, 1 / 110.0,
                                     1 / 72.0,  1 / 42.0,  1 / 20.0,  1 / 6.0};
    return pfd_sum_of_powers(square, factors);
}

/* Exact where the result is 0, 1 or -1; else within 1e-15 for |x| < 1000. */
static inline double pfd_sin_pi(double x)
{
    double quarters = rint(2 * x), angle = (x - quarters / 2) * PFD_PI, square = angle * angle;
    int64_t quarter = (int64_t)quarters & 3;
    double value = quarter & 1 ? pfd_cos_of_square(square) : angle * pfd_sinc_of_square(square);
    return quarter & 2 ? -value : value;
}

static inline double pfd_cos_pi(double x)
{
    return pfd_sin_pi(x + 0.5);
}

/* sin(pi x) / (pi x), x != 0. */
static inline double pfd_sinc(double x)
{
    return pfd_sin_pi(x) / (x * PFD_PI);
}
#endif
