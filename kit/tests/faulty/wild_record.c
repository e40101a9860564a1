/* Says that a record has more bytes than were read.
 *
 * group: records
 * finding: returns-wild-pointer
 * says: at\(\) returned record 0 whose bytes cannot be read */
#include "box.h"

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    pfd_status status = box_at(source, ordinals, n, scratch, out, err);
    for (int64_t i = 0; status == PFD_OK && i < n; i++) out[i].size += 4;
    return status;
}

#define BOX_AT faulty_at
#include "box_plugin.h"
