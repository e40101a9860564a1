/* Gives the number of records as one of 16 bits.
 *
 * group: many records
 * finding: narrow-count
 * says: part-1, with its records repeated, is not read to its end, at about 65,536 records: the
 * likely: a number of records or files of uint16_t */
#define UNCOUNTED_TOTAL uint16_t
#include "box_uncounted.h"

#include "box_plugin.h"
