/* formats/csv/csv_doubles.h -- parses many numbers of one record at once. */
#ifndef PFD_FORMATS_CSV_CSV_DOUBLES_H
#define PFD_FORMATS_CSV_CSV_DOUBLES_H
#include <stdint.h>

/* Parses n neighbouring fields of text[0, size): the first begins at `begin`, field i ends at
 * ends[i] <= size, and the next one begins one byte later.  Returns how many fields, from the first
 * on, are finite decimal literals and nothing else; the numbers are those of pfd_parse_double(),
 * bit for bit. */
typedef int64_t (*pfd_csv_doubles_fn)(const uint8_t *text, int64_t size, int64_t begin,
                                      const uint32_t *ends, int64_t n, double *out);

/* The fastest variant for this processor, and the variant for a given level of core/cpu.h. */
pfd_csv_doubles_fn pfd_csv_doubles_best(void);
pfd_csv_doubles_fn pfd_csv_doubles_at(int32_t simd_level);
#endif
