/* A decoder without a fault: the sum of a row of bytes.  Its reader refuses empty files.
 *
 * op: ByteSum
 * input: BoxReader.values */
#include "box.h"

static pfd_status refuse_empty(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    if (args->files[index]->size > 0) return box_index_file(self, args, index, err);
    return args->host->fail_file(err, args->files[index], -1, PFD_UNSUPPORTED,
                                 "the file is empty; leave it out");
}

static pfd_status sum_infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    if (in->dtype != PFD_UINT8 || in->ndim != 1 || in->shape[0] < 0)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "in must be rows of bytes, all of one "
                                                           "length");
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

static pfd_status sum_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++) {
        int64_t sum = 0, width = args->inputs[0]->row_bytes;
        for (int64_t i = 0; i < width; i++) sum += args->inputs[0]->data[row * width + i];
        memcpy(args->outputs[0]->data + row * 8, &sum, 8);
    }
    return PFD_OK;
}

static const pfd_port sum_inputs[] = {{"in", "Bytes."}};
static const pfd_port sum_outputs[] = {{"out", "Their sum."}};

static const pfd_op byte_sum = {
    PFD_OP_SIZES,
    .name = "ByteSum",
    .doc = "Adds up.",
    PFD_OP_INPUTS(sum_inputs),
    PFD_OP_OUTPUTS(sum_outputs),
    .infer = sum_infer,
    .compute = sum_compute,
};

#define BOX_INDEX refuse_empty
#define BOX_OPS &box_op, &byte_sum
#include "box_plugin.h"
