/* Draws with the generator of the C library, which the whole process shares.
 *
 * group: random numbers
 * finding: own-generator
 * says: compute\(\) called rand\(\) for record 0 */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    int64_t bits = rand() % 100;
    memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
