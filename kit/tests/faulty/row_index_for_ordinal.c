/* Draws for the row of the call in place of its record.
 *
 * group: random numbers
 * finding: random-ordinal
 * says: for the row in the call: random_bits\(0x[0-9a-f]+, 1, 0\) .* 4 records from 4 on
 * likely: `row` in place of args->records\[row\].ordinal */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        uint64_t bits = args->host->random_bits(args->random_key, row, 0);
        memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
