/* places() names a file that is not there.
 *
 * group: records
 * finding: place-field
 * says: record 0 is in file 77 at byte \d+: the reader has fewer files */
#include "box.h"

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const box *self = source;
    for (int64_t i = 0; i < n; i++) out[i] = (pfd_place){self->entries[ordinals[i]].offset, 77, 0};
}

static const pfd_source_methods methods = {
    PFD_SIZE(pfd_source_methods),
    .close = box_close,
    .size = box_size,
    .at = box_at,
    .places = places,
};

static pfd_status open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return box_open_with(args, out, &methods, box_index_file, err);
}

#define BOX_OPEN open
#include "box_plugin.h"
