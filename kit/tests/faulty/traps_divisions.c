/* Wants a division by zero to be seen while files are opened.
 *
 * group: state
 * finding: arithmetic-mode
 * says: open\(\) changed the traps of floating-point exceptions */
#include "box.h"

#include <fenv.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    (void)feenableexcept(FE_DIVBYZERO);
    return box_index_file(self, args, index, err);
}
#define BOX_INDEX faulty_index
#include "box_plugin.h"
