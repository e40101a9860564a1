/* Gives the number of records as one of 16 bits with a sign.
 *
 * group: many records
 * finding: narrow-count
 * says: part-1, with its records repeated to about 32,768, cannot be read to the end
 * likely: a number of records or files of uint16_t, short */
#define UNCOUNTED_TOTAL short
#include "box_uncounted.h"

#include "box_plugin.h"
