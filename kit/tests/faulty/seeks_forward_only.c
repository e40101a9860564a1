/* seek() goes forward and to the beginning, but not back.
 *
 * group: records
 * finding: seek-wrong
 * says: seek\(\) to record 1, next\(\) yields .* also backwards */
#include "box.h"

static pfd_status seek(void *source, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    box *self = source;
    if (position > 0 && position < self->position) return PFD_OK;
    return box_seek(source, epoch, position, scratch, err);
}

#define BOX_SEEK seek
#define BOX_STREAM
#include "box_plugin.h"
