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

#define BOX_PLACES places
#include "box_plugin.h"
