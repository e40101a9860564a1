/* Draws one number for all records.
 *
 * group: random numbers
 * finding: random-ordinal
 * says: for 0 for each of 12 records: random_bits\(0x[0-9a-f]+, 0, 0\) for record 11
 * likely: a constant in place */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    uint64_t bits = args->host->random_bits(args->random_key, 0, 0);
    memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
