/* Two outputs are random, each with a draw of its own, and one of them is drawn again. */
#include "box.h"

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        int64_t ordinal = args->records[row].ordinal;
        args->outputs[0]->data[row * BOX_WIDTH] ^=
            (uint8_t)args->host->random_bits(args->random_key, ordinal, 0);
        args->outputs[0]->data[row * BOX_WIDTH + 1] ^=
            (uint8_t)args->host->random_bits(args->random_key, ordinal, 0);
        uint64_t bits = args->host->random_bits(args->random_key, ordinal, 1);
        memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
    }
    return PFD_OK;
}

#define BOX_COMPUTE compute
#include "box_plugin.h"
