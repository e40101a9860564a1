/* Gives the number of records as one of 16 bits.
 *
 * group: many records
 * finding: narrow-count
 * says: part-1, with its records repeated to about 65,536, cannot be read to the end
 * likely: a number of records or files of uint16_t */
#define UNCOUNTED_TOTAL uint16_t
#include "box_uncounted.h"

#include "box_plugin.h"
