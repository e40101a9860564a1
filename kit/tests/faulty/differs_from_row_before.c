/* Adds up lengths as if records came in the order of the file, on each thread for itself.
 *
 * group: records
 * finding: range-dependent
 * says: row of record \d+ changes with which records are computed before it \(backward instead
 * likely: static or thread_local variable */
#include "box.h"

static _Thread_local int64_t before;

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        if (args->records[row].ordinal == 0) before = 0; /* a new epoch */
        box_write(args, row);
        before += args->records[row].size;
        memcpy(args->outputs[1]->data + row * 8, &before, 8);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
