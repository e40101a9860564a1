/* Seeds its own generator with the number of the record alone.
 *
 * group: random numbers
 * finding: own-generator
 * says: row of record 0 depends on what rand_r\(\) gives
 * likely: numbers of rand_r\(\) in place of host->random_bits */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    unsigned state = 17u + (unsigned)args->records[row].ordinal;
    int64_t bits = rand_r(&state) % 100;
    memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
