/* Has a seed of its own, so that every epoch draws the same numbers.
 *
 * group: random numbers
 * finding: random-key
 * says: with the key 1234: random_bits\(1234, 0, 0\) for record 0
 * likely: a constant, or an attr such as `seed` */
#include "box.h"

static const uint64_t own_seed = 1234;

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        uint64_t bits = args->host->random_bits(own_seed, args->records[row].ordinal, 0);
        memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
