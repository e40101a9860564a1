/* formats/csv/csv_split.h -- finds where the fields of a record end. */
#ifndef PFD_FORMATS_CSV_CSV_SPLIT_H
#define PFD_FORMATS_CSV_CSV_SPLIT_H
#include <stdint.h>

#define PFD_CSV_SPLIT_SLACK 64 /* places that a splitter may write beyond those it returns */

/* Finds the first delimiters of text[0, size), at most `most`, and returns how many it found.
 * size < 2^31.  ends[i] is the place of the i-th delimiter; `ends` has room for most +
 * PFD_CSV_SPLIT_SLACK places.  *has_quote is 1 if there is a quote anywhere in the text; `quote`
 * may be the delimiter, so that no quotes are found. */
typedef int64_t (*pfd_csv_split_fn)(const uint8_t *text, int64_t size, uint8_t delimiter,
                                    uint8_t quote, int64_t most, uint32_t *ends,
                                    int32_t *has_quote);

/* The fastest variant for this processor, and the variant for a given level of core/cpu.h. */
pfd_csv_split_fn pfd_csv_split_best(void);
pfd_csv_split_fn pfd_csv_split_at(int32_t simd_level);
#endif
