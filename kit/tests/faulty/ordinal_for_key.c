/* Draws with the first two arguments in each other's place.
 *
 * group: random numbers
 * finding: random-key
 * says: ordinal as the key: random_bits\(0, -?\d+, 0\) for record 0
 * likely: the arguments are in another order */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        int64_t key = (int64_t)args->random_key;
        uint64_t bits = args->host->random_bits((uint64_t)args->records[row].ordinal, key, 0);
        memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
