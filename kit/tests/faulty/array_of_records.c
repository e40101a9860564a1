/* Has room for 40,000 records, and does not read more.
 *
 * group: many records
 * finding: narrow-count
 * says: repeated to about 65,536, cannot be read to the end: the last record is said
 * likely: a number of records or files of uint16_t */
#include "box_uncounted.h"

static int64_t faulty_size(void *source)
{
    int64_t size = ((box *)source)->size;
    return size < 40000 ? size : 40000;
}
#undef BOX_SIZE
#define BOX_SIZE faulty_size
#include "box_plugin.h"
