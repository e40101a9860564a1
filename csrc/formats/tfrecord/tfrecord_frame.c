/* TFRecordFrame: what stands around a record in a TFRecord file. */
#include "core/rows.h"
#include "formats/tfrecord/tfrecord_frame.h"
#include "parse/row_type.h"
#include "pyflowdata/op.h"

#include <string.h>

enum { FRAME_BYTES = PFD_TFRECORD_HEADER + PFD_TFRECORD_FOOTER };

static uint8_t *put_frame(pfd_bytes record, uint8_t *to)
{
    pfd_store_le64((uint64_t)record.size, to);
    pfd_store_le32(pfd_tfrecord_checksum(to, PFD_TFRECORD_LENGTH), to + PFD_TFRECORD_LENGTH);
    to += PFD_TFRECORD_HEADER;
    if (record.size) memcpy(to, record.data, (size_t)record.size);
    pfd_store_le32(pfd_tfrecord_checksum(record.data, record.size), to + record.size);
    return to + record.size + PFD_TFRECORD_FOOTER;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    return pfd_expect_bytes(args, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    int64_t total = 0;
    for (int64_t row = 0; row < args->num_rows; row++)
        total += FRAME_BYTES + pfd_row_bytes(args->inputs[0], row).size;
    uint8_t *to = args->host->alloc(args->scratch, total);
    if (!to) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for records");
    for (int64_t row = 0; row < args->num_rows; row++) {
        uint8_t *begin = to;
        to = put_frame(pfd_row_bytes(args->inputs[0], row), to);
        args->outputs[0]->rows[row] = (pfd_ragged_row){.data = begin, .num_elements = to - begin};
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "The bytes of each record, uint8 (None,)."}};
static const pfd_port outputs[] = {
    {"out", "The bytes of each record with its frame, uint8 (None,)."},
};

const pfd_op pfd_op_tfrecord_frame = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "TFRecordFrame",
    .doc = "Puts the frame of a TFRecord file around records: a length, its checksum, the bytes, "
           "and their checksum. The rows one after another are a file, which TFRecordReader "
           "reads.",
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};
