/* OFRecordReader: frames of a length and a message OFRecord, as bytes. */
#include "core/bytes.h"
#include "core/op_shorthand.h"
#include "files/file_hint.h"

#include <inttypes.h>

enum { length_bytes = 8 };

PFD_INFER_BYTES

/* Ends a message about bytes that are not an OFRecord with the format that the file's first bytes
 * suggest. */
static const char *hint(const pfd_frame_args *args, char *out, size_t capacity)
{
    const char *seems = pfd_file_looks_like(args->host, args->file, args->scratch, "ofrecord");
    return pfd_looks_like_hint(
        seems, "; is the file truncated or overwritten, or not an OFRecord file?", out,
        capacity);
}

static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    int64_t left = args->file->size - args->offset;
    char seems[100];
    const uint8_t *data;
    if (left < length_bytes)
        return args->host->fail_row(err, -1, 0, PFD_CORRUPT_DATA,
                                    "the file ends inside the length of a record, after %" PRId64
                                    " bytes of 8%s",
                                    left, hint(args, seems, sizeof seems));
    PFD_TRY(args->host->read(args->file, args->offset, length_bytes, args->scratch, &data, err));
    int64_t length = (int64_t)pfd_load_le64(data);
    left -= length_bytes;
    if (length <= 0)
        return args->host->fail_row(err, -1, 0, PFD_CORRUPT_DATA,
                                    "the length of a record is %" PRId64
                                    "; it must be above 0%s",
                                    length, hint(args, seems, sizeof seems));
    if (length > left)
        return args->host->fail_row(err, -1, 0, PFD_CORRUPT_DATA,
                                    "the length of a record is %" PRId64 ", but only %" PRId64
                                    " bytes follow%s",
                                    length, left, hint(args, seems, sizeof seems));
    out->is_record = 1;
    out->data = args->offset + length_bytes;
    out->size = length;
    out->next = out->data + length;
    return PFD_OK;
}

PFD_OPEN_FRAMES(frame)

PFD_COMPUTE_BYTES

static const pfd_port outputs[] = {
    {"out", "The bytes of each message, uint8 of shape (batch, None), for the OFRecord decoders."},
};

const pfd_op pfd_op_ofrecord_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "OFRecordReader",
    .doc = "Reads OneFlow's OFRecord files: messages of named lists, each after its length. "
           "The format has no checksums: a wrong length is detected when the file is indexed, a "
           "damaged message when a decoder reads it, and changed numbers are not detected.",
};
