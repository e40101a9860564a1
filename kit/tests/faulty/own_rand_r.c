/* Seeds a generator of its own with the number of the record alone.
 *
 * group: random numbers
 * finding: own-generator
 * says: row of record 0 depends on what rand_r\(\) gives
 * likely: numbers of rand_r\(\) in place of host->random_bits */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        unsigned state = 17u + (unsigned)args->records[row].ordinal;
        int64_t bits = rand_r(&state) % 100;
        memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
