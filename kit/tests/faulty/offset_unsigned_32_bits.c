/* Holds the place of a record in 32 bits without a sign, and does not look at the file's size.
 *
 * group: large files
 * finding: narrow-offset
 * says: with 1 MB less than 4 GB, and not with 1 MB more
 * likely: an offset or a size of uint32_t */
#define WIDE_OFFSET uint32_t
#include "box_wide.h"

#include "box_plugin.h"
