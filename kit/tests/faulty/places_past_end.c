/* places() fills in one place more than was asked for.
 *
 * group: records
 * finding: writes-past-found-records
 * says: places\(\) wrote byte \d+ past the end */
#include "box.h"

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    (void)source, (void)ordinals;
    for (int64_t i = 0; i <= n; i++) out[i] = (pfd_place){0, 0, 0};
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
