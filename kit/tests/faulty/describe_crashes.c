/* describe() writes through a pointer that was never set.
 *
 * group: records
 * finding: null-pointer
 * says: describe\(\) used a NULL pointer */
#include "box.h"

static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    (void)err;
    uint8_t *lines = (uint8_t *)((box *)source)->kept;
    lines[record->file] = 1;
}

#define BOX_DESCRIBE describe
#include "box_plugin.h"
