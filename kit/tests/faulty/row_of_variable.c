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

#define BOX_ROW faulty_write
#include "box_plugin.h"
