/* at() uses the source that was opened last.
 *
 * group: two sources
 * finding: sources-mixed
 * says: record \d+, .* of the sample is another one than in a separate process
 * likely: thread_local or static cache that belongs to no source */
#include "box.h"

static box *current;

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    current = self;
    return box_index_file(self, args, index, err);
}

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    (void)source;
    for (int64_t i = 0; i < n; i++) {
        int64_t last = current->size - 1;
        if (box_find(current, ordinals[i] < last ? ordinals[i] : last, scratch, &out[i], err))
            return err->status;
        out[i].ordinal = ordinals[i];
    }
    return PFD_OK;
}

#define BOX_INDEX faulty_index
#define BOX_AT faulty_at
#include "box_plugin.h"
