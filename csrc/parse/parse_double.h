/* parse/parse_double.h -- decimal text to the nearest double, independent of locale. */
#ifndef PFD_PARSE_PARSE_DOUBLE_H
#define PFD_PARSE_PARSE_DOUBLE_H
#include <stdint.h>

/* As pfd_host.parse_double in op.h: returns the bytes used, 0 if it is not a number. */
int64_t pfd_parse_double(const char *text, int64_t size, double *value);
#endif
