/* formats/csv/csv_split.h -- where the fields of a record end. */
#ifndef PFD_FORMATS_CSV_CSV_SPLIT_H
#define PFD_FORMATS_CSV_CSV_SPLIT_H
#include <stdint.h>

#define PFD_CSV_SPLIT_SLACK 64 /* places that a splitter may write beyond those it returns */

/* Finds the first delimiters of text[0, size), at most `most` and as many as there are, size <
 * 2^31: ends[i] is the place of the i-th.  Returns how many.  *has_quote: whether there is a quote
 * anywhere in the text; `quote` may be the delimiter, to look for none.  ends has room for most +
 * PFD_CSV_SPLIT_SLACK. */
typedef int64_t (*pfd_csv_split_fn)(const uint8_t *text, int64_t size, uint8_t delimiter,
                                    uint8_t quote, int64_t most, uint32_t *ends,
                                    int32_t *has_quote);

/* The fastest variant for this processor, and the one for a level of core/simd.h. */
pfd_csv_split_fn pfd_csv_split_best(void);
pfd_csv_split_fn pfd_csv_split_at(int32_t simd_level);
#endif
