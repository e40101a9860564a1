/* Turns the bytes of a record round where they are.
 *
 * group: records
 * finding: writes-into-record
 * says: wrote into the bytes of record 0, which are */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    ((uint8_t *)(uintptr_t)args->records[row].data)[0] ^= 1;
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
