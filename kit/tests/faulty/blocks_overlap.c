/* blocks() says that two blocks begin with the same record.
 *
 * group: records
 * finding: block-numbers
 * says: the numbers must rise */
#include "box.h"

static const int64_t *blocks(void *source, int64_t *num_blocks)
{
    box *self = source;
    *num_blocks = 2;
    self->blocks[1] = 0;
    self->blocks[2] = self->size;
    return self->blocks;
}

#define BOX_BLOCKS blocks
#include "box_plugin.h"
