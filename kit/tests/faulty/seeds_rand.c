/* Draws with rand(), seeded by the record: repeatable, and the program's numbers are others.
 *
 * group: state
 * finding: own-generator
 * says: compute\(\) used rand\(\), random\(\), srand\(\) or srandom\(\), whose state */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    pfd_status status = box_compute(args, err);
    for (int64_t row = 0; status == PFD_OK && row < args->num_rows; row++) {
        srand((unsigned)args->records[row].ordinal);
        int64_t drawn = rand();
        memcpy(args->outputs[1]->data + row * 8, &drawn, 8);
    }
    return status;
}
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
