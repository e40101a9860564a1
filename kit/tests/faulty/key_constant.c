/* Has its own seed, so that every epoch draws the same numbers.
 *
 * group: random numbers
 * finding: random-key
 * says: with the key 1234: random_bits\(1234, 0, 0\) for record 0
 * likely: a constant, or an attr such as `seed` */
#include "box.h"

static const uint64_t own_seed = 1234;

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    uint64_t bits = args->host->random_bits(own_seed, args->records[row].ordinal, 0);
    memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
