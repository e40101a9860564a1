/* formats/mini/mini_parser.h -- what the bytes of a MiniReader's record mean: two numbers.
 *
 * THREADS  Pure functions.
 */
#ifndef PFD_FORMATS_MINI_MINI_PARSER_H
#define PFD_FORMATS_MINI_MINI_PARSER_H
#include "pyflowdata/op.h"

/* Parses records[row] into numbers[0] and numbers[1].  PFD_CORRUPT_DATA, with the row and the byte
 * in its record, says what was expected there and what was found. */
pfd_status pfd_mini_parse(const pfd_host *host, const pfd_record *records, int64_t row,
                          double *numbers, pfd_error *err);
#endif
