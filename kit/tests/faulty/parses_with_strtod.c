/* Has a factor as text, and reads it as the program's locale says.
 *
 * group: state
 * finding: locale-dependent
 * says: row \d+ is another one when the program has a locale with a decimal comma */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    pfd_status status = box_compute(args, err);
    for (int64_t row = 0; status == PFD_OK && row < args->num_rows; row++) {
        int64_t size = args->records[row].size - 4;
        int64_t scaled = (int64_t)((double)size * strtod("1.25", NULL));
        memcpy(args->outputs[1]->data + row * 8, &scaled, 8);
    }
    return status;
}
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
