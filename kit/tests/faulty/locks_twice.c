/* Takes the lock in at(), and again in a function that at() calls for large records.
 *
 * group: state
 * finding: locks-twice
 * says: at\(\) locks the mutex 'box_lock', which it has locked before in 'faulty_at' */
#include "box.h"

#include <pthread.h>

static pthread_mutex_t box_lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t size_of_record(const box *self, int64_t ordinal)
{
    (void)pthread_mutex_lock(&box_lock);
    int64_t size = self->entries[ordinal].size;
    (void)pthread_mutex_unlock(&box_lock);
    return size;
}

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    pfd_status status = PFD_OK;
    (void)pthread_mutex_lock(&box_lock);
    for (int64_t i = 0; i < n && status == PFD_OK; i++) {
        status = box_find(source, ordinals[i], scratch, &out[i], err);
        if (status == PFD_OK && out[i].size > 16) out[i].size = size_of_record(source, ordinals[i]);
    }
    (void)pthread_mutex_unlock(&box_lock);
    return status;
}
#define BOX_AT faulty_at
#include "box_plugin.h"
