/* Gives each thread other values.
 *
 * group: threads
 * finding: threads-differ
 * says: outputs of record \d+ are others .* several threads */
#include "box.h"

#include <pthread.h>

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    pthread_t self = pthread_self();
    memcpy(args->outputs[1]->data + row * 8, &self, sizeof self);
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
