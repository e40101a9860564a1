/* Counts one record too few.
 *
 * group: damage: flipped
 * finding: tail-ignored
 * says: the last \d+ bytes .* is the last record forgotten */
#include "box.h"

static int64_t faulty_size(void *source)
{
    return box_size(source) - 1;
}

#define BOX_SIZE faulty_size
#include "box_plugin.h"
