/* TFRecordFrame: what stands around a record in a TFRecord file. */
#include "formats/tfrecord/tfrecord_frame.h"
#include "pyflowdata/op.h"
#include "sources/frames.h"

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

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    return pfd_record_frames_put(args, FRAME_BYTES, put_frame, err);
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
    .infer = pfd_record_frames_infer,
    .compute = compute,
};
