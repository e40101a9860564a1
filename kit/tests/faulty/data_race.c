/* Keeps what it is looking for in the source, for all threads.
 *
 * group: threads
 * finding: threads-differ
 * says: several threads at once */
#include "box.h"

#include <sched.h>

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    box *self = source;
    for (int64_t i = 0; i < n; i++) {
        *(volatile int64_t *)&self->position = ordinals[i];
        (void)sched_yield();
        int64_t wanted = *(volatile int64_t *)&self->position;
        PFD_TRY(box_find(self, wanted, scratch, &out[i], err));
        out[i].ordinal = ordinals[i];
    }
    return PFD_OK;
}

#define BOX_AT faulty_at
#include "box_plugin.h"
