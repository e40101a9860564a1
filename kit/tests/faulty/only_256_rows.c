/* Sorts the rows by file first, in a table that has room for 256.
 *
 * group: ranges
 * finding: row-unwritten
 * says: In ranges of more than 65 rows: compute\(\) did not write row 256 of output 'values'
 * likely: an array, or a counter of 8 bits */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    int64_t order[256], n = 0;
    for (int32_t file = 0; file < 2; file++)
        for (int64_t row = 0; row < args->num_rows && n < 256; row++)
            if (row < 256 && args->records[row].file == file) order[n++] = row;
    for (int64_t i = 0; i < n; i++) {
        PFD_TRY(box_verify(args, order[i], err));
        box_write(args, order[i]);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
