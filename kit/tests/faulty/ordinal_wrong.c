/* Counts records from 0 again in each file.
 *
 * group: records
 * finding: record-field
 * says: record 7 with ordinal = 0; it must be the one asked for */
#include "box.h"

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    pfd_status status = box_at(source, ordinals, n, scratch, out, err);
    for (int64_t i = 0; status == PFD_OK && i < n; i++)
        if (out[i].file > 0) out[i].ordinal -= 7;
    return status;
}

#define BOX_AT faulty_at
#include "box_plugin.h"
