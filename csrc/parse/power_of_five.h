/* parse/power_of_five.h -- the first 128 bits of powers of five, of decimal exponents q.
 *
 * Row q - PFD_LEAST_POWER holds the high and the low word of 5^q, scaled by a power of two into
 * [2^127, 2^128) and rounded down; up for -27 <= q < 0, where a product with a mantissa can be
 * exact and would else fall just below.  Exact for 0 <= q <= 55.
 */
#ifndef PFD_PARSE_POWER_OF_FIVE_H
#define PFD_PARSE_POWER_OF_FIVE_H
#include <stdint.h>

#define PFD_LEAST_POWER (-342)
#define PFD_MOST_POWER 324

extern const uint64_t pfd_power_of_five[PFD_MOST_POWER - PFD_LEAST_POWER + 1][2];
#endif
