/* Holds the size of a file in an int.
 *
 * group: large files
 * finding: narrow-offset
 * says: with 1 MB less than 2 GB, and not with 1 MB more .*open\(\) fails with PFD_CORRUPT_DATA
 * likely: an offset or a size of int, */
#define WIDE_SIZE int
#include "box_wide.h"

#include "box_plugin.h"
