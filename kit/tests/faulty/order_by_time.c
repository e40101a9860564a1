/* Begins with another record at each open.
 *
 * group: records
 * finding: open-not-repeatable
 * says: closed and opened again: .* not on time */
#include "box.h"

#include <time.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    pfd_status status = box_index_file(self, args, index, err);
    if (status != PFD_OK || index > 0) return status;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    box_entry first = self->entries[0];
    int64_t other = 1 + now.tv_nsec % 5;
    self->entries[0] = self->entries[other];
    self->entries[other] = first;
    return PFD_OK;
}

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++) box_write(args, row);
    return PFD_OK;
}
#define BOX_INDEX faulty_index
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
