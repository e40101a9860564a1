/* A generator of its own, seeded with random_bits() for each record. */
#include "box.h"

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        unsigned state =
            (unsigned)args->host->random_bits(args->random_key, args->records[row].ordinal, 0);
        int64_t bits = rand_r(&state) % 100;
        memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
    }
    return PFD_OK;
}

#define BOX_COMPUTE compute
#include "box_plugin.h"
