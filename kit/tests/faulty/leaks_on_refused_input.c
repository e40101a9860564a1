/* An op with an input: keeps its table of digits where a number is not finite.
 *
 * group: failing records
 * finding: leaks-memory
 * op: Digits
 * input: MiniReader
 * says: \("not a finite number.* \(with all bytes 0xff in each row .*so that record 0 fails
 * likely: a return where the record is refused */
#include "pyflowdata/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        double number, *table = malloc(40 * sizeof *table);
        if (!table) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the table");
        memcpy(&number, args->inputs[0]->data + row * args->inputs[0]->row_bytes, 8);
        if (!isfinite(number))
            return args->host->fail_row(err, row, -1, PFD_CORRUPT_DATA, "not a finite number");
        for (int i = 0; i < 40; i++) table[i] = number * i;
        memcpy(args->outputs[0]->data + row * 8, &table[10], 8);
        free(table);
    }
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    if (in->dtype != PFD_FLOAT64 || in->ndim != 1 || in->shape[0] < 1)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "in must be vectors of float64");
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT64};
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "Numbers."}}, outputs[] = {{"out", "Tenfold."}};
static const pfd_op op = {
    PFD_OP_SIZES,
    .name = "Digits",
    .doc = "Takes the first number of each row tenfold.",
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};

PFD_PLUGIN("digits", "1.0", &op)
