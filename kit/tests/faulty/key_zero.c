/* Draws with a key of 0, as it stood in the example that was copied.
 *
 * group: random numbers
 * finding: random-key
 * says: with the key 0: random_bits\(0, 0, 0\) for record 0
 * likely: args->random_key is not handed on */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        uint64_t bits = args->host->random_bits(0, args->records[row].ordinal, 0);
        memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
