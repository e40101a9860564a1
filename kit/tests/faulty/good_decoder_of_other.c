/* A decoder without a fault whose reader is in another plugin: random bytes instead of some.
 *
 * op: Noise
 * input: BoxReader.values
 * plugin: good.c */
#include "pyflowdata/op.h"

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    if (in->dtype != PFD_UINT8 || in->ndim != 1 || in->shape[0] < 0)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "in must be rows of bytes, all of one "
                                                           "length");
    args->outputs[0] = *in;
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t width = args->inputs[0]->row_bytes;
    for (int64_t row = 0; row < args->num_rows; row++)
        for (int64_t i = 0; i < width; i++) {
            uint64_t bits = args->host->random_bits(args->random_key, args->records[row].ordinal,
                                                    (uint64_t)i);
            uint8_t byte = args->inputs[0]->data[row * width + i];
            args->outputs[0]->data[row * width + i] = bits % 4 ? byte : (uint8_t)(bits >> 8);
        }
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "Bytes."}};
static const pfd_port outputs[] = {{"out", "The same, with noise."}};

static const pfd_op op = {
    PFD_OP_SIZES,
    .name = "Noise",    .doc = "Adds noise.",
    .inputs = inputs,   .num_inputs = PFD_COUNT(inputs),
    .outputs = outputs, .num_outputs = PFD_COUNT(outputs),
    .infer = infer,     .compute = compute,
};

PFD_PLUGIN("noise", "1.0", &op)
