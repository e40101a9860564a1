/* An op over whole batches, without a fault: takes the mean of the batch off each number.
 *
 * op: Centre
 * input: MiniReader */
#include "pyflowdata/op.h"

static int64_t row_size(const pfd_row_type *type)
{
    int64_t size = 1;
    for (int32_t i = 0; i < type->ndim; i++) size *= type->shape[i];
    return size;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    for (int32_t i = 0; i < in->ndim; i++)
        if (in->shape[i] < 0)
            return args->host->fail(err, PFD_INVALID_ARGUMENT, "rows must have one size");
    if (in->dtype != PFD_FLOAT64)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "the input must be float64");
    args->outputs[0] = *in;
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t n = args->num_rows * row_size(&args->inputs[0]->type);
    const double *in = (const void *)args->inputs[0]->data;
    double *out = (void *)args->outputs[0]->data, sum = 0;
    for (int64_t i = 0; i < n; i++) sum += in[i];
    for (int64_t i = 0; i < n; i++) out[i] = in[i] - sum / (double)n;
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "Numbers, float64."}};
static const pfd_port outputs[] = {{"out", "The same with a mean of 0."}};

static const pfd_op op = {
    PFD_OP_SIZES,       .flags = PFD_WHOLE_BATCH,
    .name = "Centre",   .doc = "Takes off the mean.",
    .inputs = inputs,   .num_inputs = PFD_COUNT(inputs),
    .outputs = outputs, .num_outputs = PFD_COUNT(outputs),
    .infer = infer,     .compute = compute,
};

PFD_PLUGIN("centre", "1.0", &op)
