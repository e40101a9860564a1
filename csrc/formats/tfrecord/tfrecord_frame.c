/* TFRecordFrame: puts the frame of a TFRecord file around records. */
#include "formats/tfrecord/tfrecord_frame.h"
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

const pfd_op pfd_op_tfrecord_frame = {
    PFD_FRAME_OP,
    .name = "TFRecordFrame",
    .doc = "Puts the frame of a TFRecord file around records: a length, its checksum, the bytes, "
           "and their checksum. The rows, joined, are a file, which TFRecordReader reads.",
};
