/* Draws with the first two arguments in each other's place.
 *
 * group: random numbers
 * finding: random-key
 * says: ordinal as the key: random_bits\(0, -?\d+, 0\) for record 0
 * likely: the arguments are in another order */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    int64_t key = (int64_t)args->random_key;
    uint64_t bits = args->host->random_bits((uint64_t)args->records[row].ordinal, key, 0);
    memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
