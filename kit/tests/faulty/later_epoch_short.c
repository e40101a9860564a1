/* seek() begins a later epoch after the first record.
 *
 * group: records
 * finding: epoch-differs
 * says: seek\(\) to epoch 1, next\(\) yields \d+ records */
#include "box.h"

static pfd_status seek(void *source, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    box *self = source;
    pfd_status status = box_seek(source, epoch, position, scratch, err);
    if (epoch > 0 && position == 0 && self->size > 0) self->position = 1;
    return status;
}

#define BOX_SEEK seek
#define BOX_STREAM
#include "box_plugin.h"
