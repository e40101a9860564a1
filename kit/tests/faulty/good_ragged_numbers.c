/* Takes rows of any size, dense or ragged, and gives the sum of each one's bytes: without a fault.
 *
 * op: ByteSum
 * input: MiniReader */
#include "pyflowdata/op.h"

#include <string.h>

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

static int64_t item_size(int32_t dtype)
{
    static const uint8_t sizes[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 2};
    return sizes[dtype];
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const pfd_tensor *in = args->inputs[0];
    for (int64_t row = 0; row < args->num_rows; row++) {
        const uint8_t *bytes = in->data + row * in->row_bytes;
        int64_t n = in->row_bytes, sum = 0;
        if (in->is_ragged) {
            bytes = in->rows[row].data;
            n = in->rows[row].num_elements * item_size(in->type.dtype);
        }
        for (int64_t i = 0; i < n; i++) sum += bytes[i];
        memcpy(args->outputs[0]->data + row * 8, &sum, sizeof sum);
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "Rows of any size."}};
static const pfd_port outputs[] = {{"out", "The sum of the bytes."}};

static const pfd_op op = {
    PFD_OP_SIZES,           .flags = PFD_TAKES_RAGGED,
    .name = "ByteSum",      .doc = "Adds up bytes.",
    PFD_OP_INPUTS(inputs),  PFD_OP_OUTPUTS(outputs),
    .infer = infer,         .compute = compute,
};

PFD_PLUGIN("byte_sum", "1.0", &op)
