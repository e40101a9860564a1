/* OFRecordFrame: puts the frame of an OFRecord file around records. */
#include "core/bytes.h"
#include "sources/frames.h"

#include <string.h>

enum { FRAME_BYTES = 8 };

static uint8_t *put_frame(pfd_bytes record, uint8_t *to)
{
    pfd_store_le64((uint64_t)record.size, to);
    memcpy(to + FRAME_BYTES, record.data, (size_t)record.size);
    return to + FRAME_BYTES + record.size;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++)
        if (pfd_row_bytes(args->inputs[0], row).size == 0)
            return args->host->fail_row(err, row, -1, PFD_INVALID_ARGUMENT,
                                        "the record is empty; OneFlow takes none");
    return pfd_record_frames_put(args, FRAME_BYTES, put_frame, err);
}

const pfd_op pfd_op_ofrecord_frame = {
    PFD_FRAME_OP,
    .name = "OFRecordFrame",
    .doc = "Puts the frame of an OFRecord file around records: a length of 8 bytes, and the bytes. "
           "The rows, joined, are a file, which OFRecordReader reads.",
};
