/* Goes on where it is, whatever seek() asks for; only the beginning is found.
 *
 * group: records
 * finding: seek-wrong
 * says: after seek\(\) to record 1, next\(\) yields record 0 */
#include "box.h"

static pfd_status faulty_seek(void *source, int64_t epoch, int64_t position,
                              pfd_scratch *scratch, pfd_error *err)
{
    box *self = source;
    return position == 0 || position >= self->size ? box_seek(source, epoch, position, scratch, err)
                                                   : PFD_OK;
}

#define BOX_STREAM
#define BOX_SEEK faulty_seek
#include "box_plugin.h"
