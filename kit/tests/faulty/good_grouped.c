/* A reader without a fault that has groups, places, lines, blocks and objects to need.
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

static const int64_t *blocks(void *source, int64_t *num_blocks)
{
    box *self = source;
    *num_blocks = self->size > 0;
    self->blocks[*num_blocks] = self->size;
    return self->blocks;
}

static int32_t need(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch)
{
    const box *self = source;
    int64_t bytes = 0;
    for (int64_t i = 0; i < n; i++) bytes += self->entries[ordinals[i]].size;
    return n <= 0 || (bytes > 0 && self->host->alloc(scratch, bytes) != NULL);
}

#define BOX_BLOCKS blocks
#define BOX_NEED need
#define BOX_DESCRIBE describe
#define BOX_PLACES places
#define BOX_GROUP group
#include "box_plugin.h"
