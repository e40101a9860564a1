/* Draws with the generator of the C library, which the whole process shares.
 *
 * group: random numbers
 * finding: own-generator
 * says: compute\(\) called rand\(\) for record 0 */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        int64_t bits = rand() % 100;
        memcpy(args->outputs[1]->data + row * 8, &bits, sizeof bits);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
