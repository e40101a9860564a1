/* images/pixels/random_variates.h -- random numbers that are not uniform, the same on every machine. */
#ifndef PFD_IMAGES_RANDOM_VARIATES_H
#define PFD_IMAGES_RANDOM_VARIATES_H
#include "pyflowdata/op.h"

/* Two normal numbers, mean 0 and variance 1, of 64 random bits (Box and Muller). */
void pfd_normal_pair(uint64_t bits, double out[2]);

/* A number of Beta(alpha, alpha), alpha > 0, from draws in [draw, draw + 1000) of the row. */
double pfd_beta(const pfd_compute_args *args, int64_t row, int64_t draw, double alpha);
#endif
