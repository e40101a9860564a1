/* group() reads the byte after the record.
 *
 * group: records
 * finding: reads-past-record
 * says: group\(\) read byte 1 past the end of the \d+ */
#include "box.h"

static pfd_status group(const pfd_group_args *args, int64_t *group, pfd_error *err)
{
    (void)err;
    *group = args->record->data[args->record->size] & 3;
    return PFD_OK;
}

#define BOX_GROUP group
#include "box_plugin.h"
