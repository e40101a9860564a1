/* Two outputs are random, each with its own draw, and one of them is drawn again. */
#include "box.h"

static void own_row(const pfd_compute_args *args, int64_t row)
{
    int64_t ordinal = args->records[row].ordinal;
    args->outputs[0]->data[row * BOX_WIDTH] ^=
        (uint8_t)args->host->random_bits(args->random_key, ordinal, 0);
    args->outputs[0]->data[row * BOX_WIDTH + 1] ^=
        (uint8_t)args->host->random_bits(args->random_key, ordinal, 0);
    uint64_t bits = args->host->random_bits(args->random_key, ordinal, 1);
    memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
}

#define BOX_ROW own_row
#include "box_plugin.h"
