/* OFRecordReader: frames of a length and a message OFRecord, as bytes. */
#include "core/bytes.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "proto/wire.h"
#include "pyflowdata/op.h"

#include <inttypes.h>

enum { length_bytes = 8 };

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    return PFD_OK;
}

/* ---- Frames ---------------------------------------------------------------------------------- */
static int64_t read_length(const uint8_t *data)
{
    return (int64_t)pfd_load_le64(data);
}

/* What a file is that holds no OFRecords, as its first bytes tell. */
static const char *hint(const pfd_frame_args *args)
{
    enum { enough = length_bytes + 4 };
    pfd_error ignored;
    const uint8_t *data;
    if (args->file->size < enough ||
        args->host->read(args->file, 0, enough, args->scratch, &data, &ignored) != PFD_OK)
        return "was the file cut short or overwritten?";
    pfd_wire_cursor c = {data + length_bytes, data + enough};
    uint32_t stored = 0;
    (void)pfd_wire_fixed32(&c, &stored);
    if (stored == pfd_crc32c_mask(pfd_crc32c_best()(0, data, length_bytes)))
        return "the file looks like a TFRecord file: read it with TFRecordReader";
    if (data[0] == 0x1f && data[1] == 0x8b) return "the file looks like gzip";
    if (data[0] == 0x28 && data[1] == 0xb5 && data[2] == 0x2f && data[3] == 0xfd)
        return "the file looks like zstd";
    if (!memcmp(data, "^ONEREC$", length_bytes))
        return "the file looks like a OneRec file: read it with OneRecReader";
    return "was the file cut short or overwritten, or is it no OFRecord file?";
}

static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    int64_t left = args->file->size - args->offset;
    const uint8_t *data;
    if (left < length_bytes)
        return pfd_fail_row(err, -1, 0, PFD_CORRUPT_DATA,
                            "the file ends inside the length of a record, after %" PRId64
                            " bytes of 8: %s",
                            left, hint(args));
    pfd_status status =
        args->host->read(args->file, args->offset, length_bytes, args->scratch, &data, err);
    if (status != PFD_OK) return status;
    int64_t length = read_length(data);
    left -= length_bytes;
    if (length <= 0)
        return pfd_fail_row(err, -1, 0, PFD_CORRUPT_DATA,
                            "the length of a record is %" PRId64 ", and it must be above 0: %s",
                            length, hint(args));
    if (length > left)
        return pfd_fail_row(err, -1, 0, PFD_CORRUPT_DATA,
                            "the length of a record is %" PRId64 ", and %" PRId64
                            " bytes follow: %s",
                            length, left, hint(args));
    out->is_record = 1;
    out->data = args->offset + length_bytes;
    out->size = length;
    out->next = out->data + length;
    return PFD_OK;
}

static const pfd_framing framing = {.struct_size = sizeof(pfd_framing), .frame = frame};

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return args->host->open_frames(args, &framing, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t i = 0; i < args->num_rows; i++)
        args->outputs[0]->rows[i] = (pfd_ragged_row){
            .data = args->records[i].data, .num_elements = args->records[i].size};
    return PFD_OK;
}

static const pfd_port outputs[] = {
    {"out", "The bytes of each message, uint8 of shape (batch, None), for the OFRecord decoders."},
};

const pfd_op pfd_op_of_record_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "OFRecordReader",
    .doc = "Reads OneFlow's OFRecord files: messages of named lists, each behind its length. "
           "The format has no checksums: a wrong length is found when the file is indexed, a "
           "damaged message when a decoder reads it, and other values where numbers stand are not "
           "found at all.",
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = infer,
    .open = open_source,
    .compute = compute,
};
