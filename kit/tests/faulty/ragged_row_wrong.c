/* Counts the checksum as well, and comes out below zero.
 *
 * group: records
 * finding: ragged-row
 * says: wrong row \d+ of output 'values': num_elements is negative */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        int64_t n = args->records[row].size - 4;
        args->outputs[0]->rows[row].data = args->records[row].data + 4;
        args->outputs[0]->rows[row].num_elements = n - 4;
        memcpy(args->outputs[1]->data + row * 8, &n, 8);
    }
    return PFD_OK;
}
#define BOX_ROW_WIDTH -1
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
