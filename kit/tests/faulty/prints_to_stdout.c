/* Says how many records there are.
 *
 * group: state
 * finding: prints
 * says: open\(\) wrote "7 records" to standard output
 * likely: left over from looking for a fault */
#include "box.h"

#include <stdio.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    pfd_status status = box_index_file(self, args, index, err);
    if (status == PFD_OK) printf("%d records\n", (int)self->size);
    return status;
}
#define BOX_INDEX faulty_index
#include "box_plugin.h"
