/* core/round_to_odd.h -- numbers rounded so that rounding them again to fewer bits, to the nearest,
 * gives what rounding the numbers themselves does. */
#ifndef PFD_CORE_ROUND_TO_ODD_H
#define PFD_CORE_ROUND_TO_ODD_H
#include <stdint.h>

/* Doubles to floats: what is no float becomes the one of its two neighbours whose last bit is 1. */
void pfd_round_double_to_odd(const double *restrict in, float *restrict out, int64_t n);

/* Integers to doubles, in the same way where they have more than 53 bits. */
void pfd_round_int64_to_odd(const int64_t *restrict in, double *restrict out, int64_t n);
void pfd_round_uint64_to_odd(const uint64_t *restrict in, double *restrict out, int64_t n);
#endif
