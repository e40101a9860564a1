/* parse/number_text.h -- numbers as decimal text, read and written independent of locale.
 *
 * THREADS  Pure functions.
 */
#ifndef PFD_PARSE_NUMBER_TEXT_H
#define PFD_PARSE_NUMBER_TEXT_H
#include <stdint.h>

/* ---- Reading --------------------------------------------------------------------------------- */

/* As pfd_host.parse_double in op.h: returns the bytes used, 0 if it is not a number. */
int64_t pfd_parse_double(const char *text, int64_t size, double *value);

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
