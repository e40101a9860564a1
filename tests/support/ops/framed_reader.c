/* FramedReader: frames of a size, a kind and bytes, behind a header, as record files have them. */
#include "pyflowdata/op.h"

#include <inttypes.h>
#include <string.h>

enum { header_bytes = 8, prefix_bytes = 8 };

typedef struct framed_reader {
    int32_t fault, has_header;
} framed_reader;

enum { none, stuck, backwards, negative, overlapping, unframed, silent };

static const pfd_attr attrs[] = {
    PFD_ATTR_ROW(framed_reader, fault, PFD_ATTR_CHOICE, "none", 0, 0,
                 "none|stuck|backwards|negative|overlapping|unframed|silent",
                 "What the op does wrong with the frame behind the header."),
    PFD_ATTR_ROW(framed_reader, has_header, PFD_ATTR_BOOL, "false", 0, 0, NULL,
                 "Whether a file of no bytes lacks its header."),
};

static void make_fault(int32_t fault, int64_t offset, pfd_frame *out)
{
    if (fault == stuck) out->next = offset;
    if (fault == backwards) out->next = offset - 4;
    if (fault == negative) out->size = -1;
    if (fault == overlapping) out->next = out->data + out->size - 1;
}

static pfd_status framed_reader_frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    const pfd_host *host = args->host;
    const framed_reader *attr = args->attrs;
    const uint8_t *bytes;
    uint32_t size, kind;
    pfd_status status = host->read(args->file, args->offset, 8, args->scratch, &bytes, err);
    if (status != PFD_OK) return status;
    if (args->offset == 0) {
        if (memcmp(bytes, "FRAMES\r\n", header_bytes) != 0)
            return host->fail(err, PFD_CORRUPT_DATA, "expected the header FRAMES");
        *out = (pfd_frame){PFD_SIZE(pfd_frame), .next = header_bytes};
        return PFD_OK;
    }
    memcpy(&size, bytes, sizeof size);
    memcpy(&kind, bytes + 4, sizeof kind);
    if (kind > 1) {
        status = host->fail(err, PFD_CORRUPT_DATA, "expected kind 0 or 1, found %" PRIu32, kind);
        err->byte = 4;
        return status;
    }
    int64_t data = args->offset + prefix_bytes;
    out->is_record = kind == 0;
    out->data = data;
    out->size = size;
    out->next = data + size;
    if (args->offset == header_bytes) make_fault(attr->fault, args->offset, out);
    return attr->fault == silent ? PFD_CORRUPT_DATA : PFD_OK;
}

static pfd_status framed_reader_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const framed_reader *attr = args->attrs;
    const pfd_framing framing = {sizeof framing, attr->has_header, framed_reader_frame};
    static const pfd_framing faulty = {PFD_SIZE(pfd_framing), .frame = NULL};
    return args->host->open_frames(args, attr->fault == unframed ? &faulty : &framing, out, err);
}

static pfd_status framed_reader_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64, .ndim = 1, .shape = {3}};
    return PFD_OK;
}

/* The sum of all bytes shows that all of the record is there. */
static pfd_status framed_reader_compute(const pfd_compute_args *args, pfd_error *err)
{
    int64_t *out = (void *)args->outputs[0]->data;
    for (int64_t i = 0; i < args->num_rows; i++) {
        const pfd_record *record = &args->records[i];
        int64_t sum = 0;
        for (int64_t j = 0; j < record->size; j++) sum += record->data[j];
        if (record->size > 0 && record->data[0] == 255)
            return args->host->fail_row(err, i, 0, PFD_CORRUPT_DATA, "a damaged record");
        out[3 * i] = record->size;
        out[3 * i + 1] = sum;
        out[3 * i + 2] = record->offset;
    }
    return PFD_OK;
}

static const pfd_port outputs[] = {{"out", "Size, sum of the bytes and offset of each record."}};

const pfd_op pfd_op_framed_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "FramedReader",
    .doc = "Reads frames.",
    PFD_OP_ATTRS(framed_reader, attrs),
    PFD_OP_OUTPUTS(outputs),
    .infer = framed_reader_infer,
    .open = framed_reader_open,
    .compute = framed_reader_compute,
};
