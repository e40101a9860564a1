/* Gives its read lock back only where a record has bytes.
 *
 * group: state
 * finding: keeps-lock
 * says: at\(\) returned and kept the read-write lock 'index_lock' locked */
#include "box.h"

#include <pthread.h>

static pthread_rwlock_t index_lock = PTHREAD_RWLOCK_INITIALIZER;

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        (void)pthread_rwlock_rdlock(&index_lock);
        pfd_status status = box_find(source, ordinals[i], scratch, &out[i], err);
        if (status != PFD_OK || out[i].size > 4) (void)pthread_rwlock_unlock(&index_lock);
        if (status != PFD_OK) return status;
    }
    return PFD_OK;
}
#define BOX_AT faulty_at
#include "box_plugin.h"
