/* Calls every failure of the disk damage.
 *
 * group: failures
 * finding: read-failure-status
 * says: failed with PFD_IO .* made PFD_CORRUPT_DATA */
#include "box.h"

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    box *self = source;
    pfd_status status = box_at(source, ordinals, n, scratch, out, err);
    return status == PFD_OK ? PFD_OK : self->host->fail(err, PFD_CORRUPT_DATA, "no record");
}

#define BOX_AT faulty_at
#include "box_plugin.h"
