/* parse/number_text.h -- numbers as decimal text, read and written independent of locale.
 *
 * THREADS  Pure functions.
 */
#ifndef PFD_PARSE_NUMBER_TEXT_H
#define PFD_PARSE_NUMBER_TEXT_H
#include <stdint.h>

/* ---- Powers of five -------------------------------------------------------------------------- */

enum { PFD_LEAST_POWER = -342, PFD_LEAST_ROUNDED_UP = -27, PFD_MOST_POWER = 324 };

/* The first 128 bits of powers of five: row q - PFD_LEAST_POWER holds the high and the low word of
 * 5^q, scaled by a power of two into [2^127, 2^128) and rounded down; up for -27 <= q < 0, where a
 * product with a mantissa can be exact and would else fall just below.  Exact for 0 <= q <= 55.
 * Made when the library is loaded.  Numbers are read from 1e-342 on, and the least double is
 * printed with 10^324. */
extern uint64_t pfd_powers_of_five[PFD_MOST_POWER - PFD_LEAST_POWER + 1][2];

/* ---- Reading --------------------------------------------------------------------------------- */

/* As pfd_host.parse_double in op.h: returns the bytes used, 0 if it is not a number. */
int64_t pfd_parse_double(const char *text, int64_t size, double *value);

/* What a parser of one value returns: */
enum {
    PFD_PARSED,      /* the value was written */
    PFD_NOT_PARSED,  /* the text is not a value of the dtype */
    PFD_OUT_OF_RANGE /* a number outside the range of the dtype */
};

/* Parses all of text[0, size), decimal digits with or without a sign, as a value of an integer
 * dtype. */
int32_t pfd_parse_integer(int32_t dtype, const uint8_t *text, int64_t size, void *out);

/* ---- Writing --------------------------------------------------------------------------------- */

/* A float is the shortest text that reads as the same number of its type, and of the shortest ones
 * the nearest: the text of Python's repr() for a float64, of NumPy's str() (2.4) for a float32 or
 * float16; a bfloat16 is written in the manner of a float32.  Each function writes at most
 * PFD_MOST_NUMBER_BYTES, without a terminating zero, and returns the end of what it wrote. */
#define PFD_MOST_NUMBER_BYTES 32 /* a text has 24 at most; digits are written in wider steps */

uint8_t *pfd_print_uint64(uint64_t value, uint8_t *to);
uint8_t *pfd_print_int64(int64_t value, uint8_t *to);
uint8_t *pfd_print_float16(uint16_t bits, uint8_t *to);
uint8_t *pfd_print_bfloat16(uint16_t bits, uint8_t *to);
uint8_t *pfd_print_float32(float value, uint8_t *to);
uint8_t *pfd_print_float64(double value, uint8_t *to);
#endif
