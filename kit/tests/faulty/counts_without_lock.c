/* Counts how often records are looked for, in the source that all threads share; no record depends
 * on it.
 *
 * sanitizer: tsan
 * says: data race.* in faulty_at\(\) at counts_without_lock.c:\d+ */
#include "box.h"

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    box *self = source;
    self->position += n;
    return box_at(source, ordinals, n, scratch, out, err);
}

#define BOX_AT faulty_at
#include "box_plugin.h"
