/* Starts each row with the second in which it was made.
 *
 * group: state
 * finding: not-repeatable
 * says: row \d+ is another one when the clocks that the plugin reads are \d+ s slow
 * likely: the time of day goes into the output */
#include "box.h"

#include <time.h>

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    PFD_TRY(box_compute(args, err));
    for (int64_t row = 0; row < args->num_rows; row++) {
        uint8_t *values = args->outputs[0]->data + row * args->outputs[0]->row_bytes;
        values[0] = (uint8_t)time(NULL);
    }
    return PFD_OK;
}
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
