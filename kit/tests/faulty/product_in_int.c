/* Records of one size: computes the place of a record as a product of two ints.
 *
 * group: large files
 * finding: narrow-offset
 * says: part-1 was read as it should with 1 MB less than 2 GB, .* at -\d+; neither may be negative
 * likely: an offset or a size of int, or a cast to it
 * sample: fixed */
#define FIXED_NUMBER int
#include "box_fixed.h"

#include "box_plugin.h"
