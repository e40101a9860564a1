/* A reader without a fault whose second output is random, by random_bits(). */
#include "box.h"

static void own_row(const pfd_compute_args *args, int64_t row)
{
    uint64_t bits = args->host->random_bits(args->random_key, args->records[row].ordinal, 0);
    memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
}

#define BOX_ROW own_row
#include "box_plugin.h"
