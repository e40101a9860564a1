/* need() looks at the record after the one that is needed, also after the last one.
 *
 * group: records
 * finding: crash
 * says: need\(\) crashed */
#include "box.h"

static int32_t need(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch)
{
    const box *self = source;
    (void)scratch;
    for (int64_t i = 0; i < n; i++)
        if (ordinals[i] + 1 >= self->size) abort();
    return 1;
}

#define BOX_NEED need
#include "box_plugin.h"
