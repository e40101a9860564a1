/* Takes the checksum off each record in the list of records itself.
 *
 * group: records
 * finding: writes-into-records
 * says: wrote into the bytes of args->records \(row 0\), which are const */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        pfd_record *record = (pfd_record *)(uintptr_t)&args->records[row];
        record->data += 4;
        record->size -= 4;
        memset(args->outputs[0]->data + row * BOX_WIDTH, 0, BOX_WIDTH);
        memcpy(args->outputs[0]->data + row * BOX_WIDTH, record->data, (size_t)record->size);
        memcpy(args->outputs[1]->data + row * 8, &record->size, 8);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
