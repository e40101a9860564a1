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

static const pfd_source_methods methods = {
    PFD_SIZE(pfd_source_methods), .close = box_close, .size = box_size, .at = box_at,
    .describe = describe,
};

static pfd_status open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return box_open_with(args, out, &methods, box_index_file, err);
}

#define BOX_OPEN open
#include "box_plugin.h"
