/* formats/mini/mini_parser.h -- lines "NUMBER,NUMBER", with spaces and tabs around a number.
 *
 * THREADS  Pure functions.
 */
#ifndef PFD_FORMATS_MINI_MINI_PARSER_H
#define PFD_FORMATS_MINI_MINI_PARSER_H
#include "pyflowdata/op.h"

typedef struct pfd_mini_fault {
    const char *expected;
    int64_t at;    /* byte of the line at which it is expected */
    int64_t field; /* byte at which the last number begins; `at` if a number is expected */
} pfd_mini_fault;

/* Parses a line of `size` bytes into numbers[0] and numbers[1].  Returns 0 if it is malformed;
 * *fault then says why. */
int32_t pfd_mini_parse(const uint8_t *line, int64_t size, double *numbers, pfd_mini_fault *fault);

/* Fails with PFD_CORRUPT_DATA for a row of the range.  The message states the column, what was
 * expected and what was found. */
pfd_status pfd_mini_fail(const pfd_compute_args *args, int64_t row, const pfd_mini_fault *fault,
                         pfd_error *err);
#endif
