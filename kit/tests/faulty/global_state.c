/* Unpacks each record into a static buffer.
 *
 * group: records
 * finding: global-state
 * says: compute\(\) changed the global .* 'unpacked */
#include "box.h"

static void faulty_row(const pfd_compute_args *args, int64_t row)
{
    static uint8_t unpacked[4 + BOX_WIDTH];
    memcpy(unpacked, args->records[row].data, (size_t)args->records[row].size);
    args->outputs[0]->data[row * BOX_WIDTH + BOX_WIDTH - 1] |= unpacked[0] & 1;
}

#define BOX_ROW faulty_row
#include "box_plugin.h"
