/* Scales the values by a variable of the environment, in place of an attr.
 *
 * group: state
 * finding: environment-dependent
 * says: row \d+ is another one when environment variables .* the first BOX_ADD
 * likely: getenv\(\) in place of an attr */
#include "box.h"

static void faulty_write(const pfd_compute_args *args, int64_t row)
{
    const char *added = getenv("BOX_ADD");
    args->outputs[0]->data[row * args->outputs[0]->row_bytes] += added ? (uint8_t)atoi(added) : 0;
}

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
        faulty_write(args, row);
    }
    return PFD_OK;
}
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
