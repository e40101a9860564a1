/* Takes a filler for a row that nobody looks at.
 *
 * group: records
 * finding: filler-differs
 * says: filler = 1 gives another row */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    if (args->records[row].filler)
        memset(args->outputs[0]->data + row * BOX_WIDTH, 0, BOX_WIDTH);
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
