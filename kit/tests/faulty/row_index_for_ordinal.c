/* Draws for the row of the call in place of its record.
 *
 * group: random numbers
 * finding: random-ordinal
 * says: for the row in the call: random_bits\(0x[0-9a-f]+, 1, 0\) .* 4 records from 4 on
 * likely: `row` in place of args->records\[row\].ordinal */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    uint64_t bits = args->host->random_bits(args->random_key, row, 0);
    memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
