/* A reader without a fault that has groups, places and lines.
 *
 * left out: the loader: BoxReader makes batches by group */
#include "box.h"

static pfd_status group(const pfd_group_args *args, int64_t *group, pfd_error *err)
{
    (void)err;
    *group = args->record->size / 8;
    return PFD_OK;
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const box *self = source;
    for (int64_t i = 0; i < n; i++) {
        const box_entry *entry = &self->entries[ordinals[i]];
        out[i] = (pfd_place){entry->offset, entry->file, 0};
    }
}

static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    (void)source;
    err->line = record->ordinal + 1;
}

#define BOX_DESCRIBE describe
#define BOX_PLACES places
#define BOX_GROUP group
#include "box_plugin.h"
