/* Holds the place of a record in 32 bits with a sign.
 *
 * group: large files
 * finding: narrow-offset
 * says: part-1 was read as it should with 1 MB less than 2 GB, and not with 1 MB more
 * likely: an offset or a size of int, */
#define WIDE_OFFSET int32_t
#include "box_wide.h"

#include "box_plugin.h"
