/* An op that `pyflowdata selftest` compiles: out = 2 * in. */
#include "pyflowdata/op.h"

static const pfd_port inputs[] = {{"in", "Rows of int64."}};
static const pfd_port outputs[] = {{"out", "Twice as much."}};

static pfd_status twice_infer(const pfd_infer_args *args, pfd_error *err)
{
    if (args->inputs[0].dtype != PFD_INT64)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "in must be int64");
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

static pfd_status twice_compute(const pfd_compute_args *args, pfd_error *err)
{
    const int64_t *in = (const int64_t *)(const void *)args->inputs[0]->data;
    int64_t *out = (int64_t *)(void *)args->outputs[0]->data;
    int64_t count = args->num_rows * args->inputs[0]->row_bytes / (int64_t)sizeof *in;
    (void)err;
    for (int64_t i = 0; i < count; i++) out[i] = 2 * in[i];
    return PFD_OK;
}

static const pfd_op twice = {
    PFD_OP_SIZES,
    .name = "SelftestTwice",
    .doc = "Doubles.",
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = twice_infer,
    .compute = twice_compute,
};

PFD_PLUGIN("selftest", "1.0", &twice)
