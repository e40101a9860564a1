/* Makes its table from the attrs of the node that is computed first, and keeps it for all.
 *
 * group: two sources
 * finding: sources-mixed
 * op: Levels
 * input: MiniReader
 * says: record 0, output .out., of a source with gain = 3.0 is another one .* by turns on
 * likely: table that is made once from the attrs of the first node */
#include "pyflowdata/op.h"

typedef struct levels {
    double gain;
} levels;

static const double *table_of(const levels *attrs)
{
    static double table[16];
    for (int i = 0; i < 16 && table[15] == 0; i++) table[i] = attrs->gain * (i + 1);
    return table;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const double *table = table_of(args->attrs);
    double *out = (double *)(void *)args->outputs[0]->data;
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++)
        out[row] = table[args->inputs[0]->data[row * args->inputs[0]->row_bytes + 6] % 16];
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    if (args->inputs[0].dtype != PFD_FLOAT64 || args->inputs[0].ndim < 1 ||
        args->inputs[0].shape[0] < 1 || args->inputs[0].ndim > 1)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "in must be vectors of float64");
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT64};
    return PFD_OK;
}

static const pfd_attr attrs[] = {PFD_FLOAT_ATTR(levels, gain, "2", 1, 4, "The gain.")};
static const pfd_port inputs[] = {{"in", "Numbers."}}, outputs[] = {{"out", "Their levels."}};
static const pfd_op op = {
    PFD_OP_SIZES,
    .name = "Levels",
    .doc = "Looks numbers up.",
    PFD_OP_ATTRS(levels, attrs),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};

PFD_PLUGIN("levels", "1.0", &op)
