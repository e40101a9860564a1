/* Returns from between lock and unlock where a record is refused.
 *
 * group: damage: flipped
 * finding: keeps-lock
 * says: compute\(\) failed and kept the mutex 'box_lock' locked, .* in 'faulty_compute'
 * likely: a return of a failure that passes over the unlock */
#include "box.h"

#include <pthread.h>

static pthread_mutex_t box_lock = PTHREAD_MUTEX_INITIALIZER;

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    pthread_mutex_lock(&box_lock);
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
    }
    pthread_mutex_unlock(&box_lock);
    return PFD_OK;
}
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
