/* Gives each thread other values.
 *
 * group: threads
 * finding: threads-differ
 * says: outputs of record \d+ are others .* several threads */
#include "box.h"

#include <pthread.h>

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        pthread_t self = pthread_self();
        memcpy(args->outputs[1]->data + row * 8, &self, sizeof self);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
