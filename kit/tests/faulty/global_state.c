/* Unpacks each record into a static buffer.
 *
 * group: records
 * finding: global-state
 * says: compute\(\) changed the global .* 'unpacked */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    static uint8_t unpacked[4 + BOX_WIDTH];
    for (int64_t row = 0; row < args->num_rows; row++) {
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) return status;
        box_write(args, row);
        memcpy(unpacked, args->records[row].data, (size_t)args->records[row].size);
        args->outputs[0]->data[row * BOX_WIDTH + BOX_WIDTH - 1] |= unpacked[0] & 1;
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
