/* check/range_lengths.h -- the lengths of ranges that are tried, and words for some of them.
 *
 * THREADS  Any thread.
 */
#ifndef PFD_KIT_RANGE_LENGTHS_H
#define PFD_KIT_RANGE_LENGTHS_H
#include <stdint.h>

#define PFD_KIT_NUM_LENGTHS 20
#define PFD_KIT_MOST_LENGTH 4097
#define PFD_KIT_LENGTH_WORDS 240

extern const int64_t pfd_kit_lengths[PFD_KIT_NUM_LENGTHS]; /* 1 to 17, 65, 257, 4097 */

/* Which one this is, from 0; the last one where it is none of them. */
int32_t pfd_kit_length_number(int64_t rows);

/* "In ranges of 2, 6 and 10 rows (rows % 4 == 2): " for those with a bit in `found`, of those that
 * were tried; "" where it is all of them.  Returns PFD_KIT_NO_PATTERN ... */
int32_t pfd_kit_length_words(uint32_t found, uint32_t tried, char out[PFD_KIT_LENGTH_WORDS]);
#endif
