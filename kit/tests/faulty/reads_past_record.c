/* Looks at the byte after each record.
 *
 * group: records
 * finding: reads-past-record
 * says: compute\(\) read byte 1 past the end of the \d+ */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    const pfd_record *record = &args->records[row];
    if (record->data[record->size] == 255) args->outputs[0]->data[0] = 1;
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
