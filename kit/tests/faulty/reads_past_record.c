/* Looks at the byte after each record.
 *
 * group: records
 * finding: reads-past-record
 * says: compute\(\) read byte 1 past the end of the \d+ */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        const pfd_record *record = &args->records[row];
        if (record->data[record->size] == 255) args->outputs[0]->data[0] = 1;
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
