/* group() depends on how often it was called.
 *
 * group: records
 * finding: group-differs
 * says: calls of group\(\) with record 0 gave \d+ and \d+ */
#include "box.h"

static pfd_status group(const pfd_group_args *args, int64_t *group, pfd_error *err)
{
    (void)err;
    static int64_t calls;
    *group = args->record->size + calls++ % 2;
    return PFD_OK;
}

#define BOX_GROUP group
#include "box_plugin.h"
