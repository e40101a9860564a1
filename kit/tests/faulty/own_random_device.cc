/* An op with an input, in C++: adds noise of the system's generator.
 *
 * group: random numbers
 * finding: own-generator
 * op: Noise
 * input: MiniReader
 * says: row of record 0 depends on what std::random_device\(\) gives
 * likely: numbers of std::random_device\(\) in place of host->random_bits */
#include "pyflowdata/op.h"

#include <cstring>
#include <random>

static pfd_status infer(const pfd_infer_args *args, pfd_error *)
{
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *)
{
    static thread_local std::random_device device;
    int64_t bytes = args->outputs[0]->row_bytes;
    for (int64_t row = 0; row < args->num_rows && bytes >= 4; row++) {
        uint8_t *out = args->outputs[0]->data + row * bytes;
        std::memcpy(out, args->inputs[0]->data + row * bytes, static_cast<std::size_t>(bytes));
        unsigned noise = device(); // of four bytes: two that are equal by chance would hide it
        for (int byte = 0; byte < 4; byte++) out[byte] ^= static_cast<uint8_t>(noise >> 8 * byte);
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "Rows."}}, outputs[] = {{"out", "Rows with noise."}};

static pfd_op make_op()
{
    pfd_op op = pfd_op();
    op.struct_size = sizeof(pfd_op);
    op.attr_size = sizeof(pfd_attr);
    op.port_size = sizeof(pfd_port);
    op.name = "Noise";
    op.doc = "Adds noise.";
    op.inputs = inputs;
    op.outputs = outputs;
    op.num_inputs = op.num_outputs = 1;
    op.infer = infer;
    op.compute = compute;
    return op;
}

static const pfd_op op = make_op();
PFD_PLUGIN("noise", "1.0", &op)
