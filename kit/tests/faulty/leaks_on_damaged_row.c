/* Keeps its buffer where the checksum of a record is another one.
 *
 * group: failing records
 * finding: leaks-memory
 * says: in which compute\(\) failed \("the checksum.* left \d+ bytes .* so that record \d+ fails
 * likely: a return where the record is refused */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    uint8_t *padded = calloc(1, 64 + BOX_WIDTH);
    if (!padded) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the record");
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
        memcpy(padded, args->outputs[0]->data + row * BOX_WIDTH, BOX_WIDTH);
    }
    free(padded);
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
