/* An op over whole batches that promises rows of one shape: row i has i + 1 numbers.
 *
 * group: records
 * finding: rows-not-equal
 * says: rows 0 and 1 of output 'out' differ in shape, though the op has PFD_EQUAL_ROWS
 * op: Stairs
 * input: MiniReader */
#include "pyflowdata/op.h"

#include <string.h>

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    uint8_t *ones = args->host->alloc(args->scratch, args->num_rows);
    if (!ones) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for ones");
    memset(ones, 1, (size_t)args->num_rows);
    for (int64_t row = 0; row < args->num_rows; row++)
        args->outputs[0]->rows[row] = (pfd_ragged_row){ones, row + 1, NULL};
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "Rows of any type."}};
static const pfd_port outputs[] = {{"out", "More ones in each row."}};

static const pfd_op op = {
    PFD_OP_SIZES,
    .flags = PFD_WHOLE_BATCH | PFD_EQUAL_ROWS,
    .name = "Stairs",
    .doc = "Counts up.",
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};

PFD_PLUGIN("stairs", "1.0", &op)
