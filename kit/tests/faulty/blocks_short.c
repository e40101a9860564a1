/* blocks() leaves the last records out.
 *
 * group: records
 * finding: block-numbers
 * says: must have all \d+ records */
#include "box.h"

static const int64_t *blocks(void *source, int64_t *num_blocks)
{
    box *self = source;
    *num_blocks = 2;
    self->blocks[1] = self->size / 2;
    self->blocks[2] = self->size - 1;
    return self->blocks;
}

#define BOX_BLOCKS blocks
#include "box_plugin.h"
