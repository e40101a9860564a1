/* Starts again after the end of the epoch.
 *
 * group: records
 * finding: end-not-kept
 * says: next\(\) after PFD_END returned status 0; it must be */
#include "box.h"

static pfd_status faulty_next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out,
                              int64_t *n, pfd_error *err)
{
    box *self = source;
    pfd_status status = box_next(source, max, scratch, out, n, err);
    if (status == PFD_END) self->position = 0;
    return status;
}

#define BOX_STREAM
#define BOX_NEXT faulty_next
#include "box_plugin.h"
