/* images/random_variates.h -- random numbers that are not uniform, the same on every machine.
 *
 * The logarithms and powers in them are sums of terms in double: those of C libraries differ in
 * their last bits.
 */
#ifndef PFD_IMAGES_RANDOM_VARIATES_H
#define PFD_IMAGES_RANDOM_VARIATES_H
#include "pyflowdata/op.h"

/* The natural logarithm of a finite x > 0, and the exponential function: within 1e-15 of the result
 * or of 1.  exp() of more than 700 is infinite, of less than -700 it is 0. */
double pfd_log(double x);
double pfd_exp(double x);

/* Two normal numbers, mean 0 and variance 1, of 64 random bits (Box and Muller). */
void pfd_normal_pair(uint64_t bits, double out[2]);

/* A number of Beta(alpha, alpha), alpha > 0, from draws in [draw, draw + 1000) of the row. */
double pfd_beta(const pfd_compute_args *args, int64_t row, int64_t draw, double alpha);
#endif
