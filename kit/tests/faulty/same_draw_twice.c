/* Makes two decisions with the same draw: how far values are shifted, and the weight.
 *
 * group: random numbers
 * finding: random-draw-twice
 * says: twice for record 0 .* for output .values. and for output .size.
 * likely: draw of another decision was copied */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        int64_t ordinal = args->records[row].ordinal;
        args->outputs[0]->data[row * BOX_WIDTH] ^=
            (uint8_t)args->host->random_bits(args->random_key, ordinal, 0);
        uint64_t bits = args->host->random_bits(args->random_key, ordinal, 0) >> 8;
        memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
