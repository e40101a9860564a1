/* Reads on from the last record instead of looking at all ordinals.
 *
 * group: records
 * finding: at-not-pure
 * says: at\(\) .* must be a pure function of the ordinals */
#include "box.h"

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    box *self = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t next = i == 0 ? ordinals[0] : (self->position + 1) % self->size;
        PFD_TRY(box_find(self, next, scratch, &out[i], err));
        out[i].ordinal = ordinals[i];
        self->position = next;
    }
    return PFD_OK;
}

#define BOX_AT faulty_at
#include "box_plugin.h"
