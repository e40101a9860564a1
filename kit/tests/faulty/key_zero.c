/* Draws with a key of 0, as it stood in the example that was copied.
 *
 * group: random numbers
 * finding: random-key
 * says: with the key 0: random_bits\(0, 0, 0\) for record 0
 * likely: args->random_key is not handed on */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    uint64_t bits = args->host->random_bits(0, args->records[row].ordinal, 0);
    memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
