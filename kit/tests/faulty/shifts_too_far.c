/* Shifts a number by as many bits as a damaged byte says, which C does not define.
 *
 * sanitizer: ubsan
 * says: shift exponent */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    volatile uint32_t bits = 0;
    for (int64_t row = 0; row < args->num_rows; row++) {
        if (args->records[row].size > 4) bits = bits + (1u << args->records[row].data[4]);
    }
    return box_compute(args, err);
}
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
