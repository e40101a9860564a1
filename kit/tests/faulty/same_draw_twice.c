/* Makes two decisions with the same draw: how far values are shifted, and the weight.
 *
 * group: random numbers
 * finding: random-draw-twice
 * says: twice for record 0 .* for output .values. and for output .size.
 * likely: draw of another decision was copied */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    int64_t ordinal = args->records[row].ordinal;
    args->outputs[0]->data[row * BOX_WIDTH] ^=
        (uint8_t)args->host->random_bits(args->random_key, ordinal, 0);
    uint64_t bits = args->host->random_bits(args->random_key, ordinal, 0) >> 8;
    memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
