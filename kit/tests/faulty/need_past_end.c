/* need() reads one ordinal more than there are, to fetch the next record as well.
 *
 * group: records
 * finding: reads-past-ordinals
 * says: need\(\) read */
#include "box.h"

static int32_t need(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch)
{
    const box *self = source;
    (void)scratch;
    if (n <= 0) return 1;
    int64_t bytes = 0;
    for (int64_t i = 0; i <= n; i++)
        if (ordinals[i] < self->size) bytes += self->entries[ordinals[i]].size;
    return bytes >= 0;
}

#define BOX_NEED need
#include "box_plugin.h"
