/* Writes a terminating zero after the memory that it asked for.
 *
 * group: records
 * finding: writes-past-alloc
 * says: wrote 1 bytes past the end of the \d+ bytes that */
#include "box.h"

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        int64_t n = args->records[row].size;
        uint8_t *copy = args->host->alloc(args->scratch, n);
        if (!copy) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory");
        memcpy(copy, args->records[row].data, (size_t)n);
        copy[n] = 0;
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
