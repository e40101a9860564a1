/* ClipReader: files of sensor clips, each with a label, samples and a checksum.  Numbers are
 * little-endian, as on the machines that pyflowdata runs on.
 *
 *     file    "CLIP", uint32 version (1), then clips up to the file's end
 *     clip    uint32 size of the body in bytes, uint32 Adler-32 of the body, body
 *     body    int32 label, then float32 samples, as many as there are */
#include "pyflowdata/op.h"
#include <string.h>

static const pfd_port outputs[] = {{"samples", "The samples, float32 of shape (batch, ragged)."},
                                   {"label", "The labels, int32 of shape (batch,)."}};

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT32, .ndim = 1, .shape = {-1}};
    args->outputs[1] = (pfd_row_type){.dtype = PFD_INT32, .ndim = 0};
    return PFD_OK;
}

static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    const uint8_t *head;
    uint32_t size;
    pfd_status status = args->host->read(args->file, args->offset, 8, args->scratch, &head, err);
    if (status != PFD_OK) return status;
    memcpy(&size, head, 4);
    out->is_record = args->offset > 0; /* at 0 is the file's header */
    if (!out->is_record && memcmp(head, "CLIP\1\0\0\0", 8) != 0)
        return args->host->fail(err, PFD_CORRUPT_DATA, "this is no file of clips, version 1");
    if (out->is_record && (size < 4 || size % 4 != 0 || size > 1 << 28))
        return args->host->fail(err, PFD_CORRUPT_DATA, "a clip of %u bytes", size);
    out->data = args->offset + 4; /* the record is checksum and body */
    out->size = 4 + (int64_t)size;
    out->next = args->offset + 8 + (out->is_record ? size : 0);
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    static const pfd_framing framing = {sizeof framing, .has_header = 1, .frame = frame};
    return args->host->open_frames(args, &framing, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        const pfd_record *record = &args->records[row];
        uint64_t a = 1, b = 0, n = (uint64_t)record->size / 4 - 2; /* samples */
        for (int64_t i = 4; i < record->size; i++) b += a += record->data[i];
        uint32_t checksum = (uint32_t)(b % 65521 << 16 | a % 65521);
        if (memcmp(record->data, &checksum, 4) != 0)
            return args->host->fail_row(err, row, 0, PFD_CORRUPT_DATA, "the checksum is wrong");
        float *samples = args->host->alloc(args->scratch, (int64_t)n * 4);
        if (!samples) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a clip");
        memcpy(samples, record->data + 8, n * 4);
        memcpy(args->outputs[1]->data + row * 4, record->data + 4, 4);
        args->outputs[0]->rows[row] = (pfd_ragged_row){samples, (int64_t)n, NULL};
    }
    return PFD_OK;
}

/* clang-format off */
static const pfd_op op = {
    PFD_OP_SIZES, .flags = PFD_READS_FILES, .name = "ClipReader",
    .doc = "Reads files of sensor clips with a label, samples and a checksum.",
    .outputs = outputs, .num_outputs = PFD_COUNT(outputs),
    .infer = infer, .open = open_source, .compute = compute,
};

static int32_t probe(const pfd_probe_args *args)
{
    int32_t has_magic = args->size >= 8 && !memcmp(args->data, "CLIP\1\0\0\0", 8);
    return has_magic ? PFD_PROBE_CERTAIN : PFD_PROBE_NO;
}

static const pfd_format format = {
    .struct_size = sizeof(pfd_format), .name = "clips", .title = "sensor clips",
    .doc = "Sensor clips with a label, samples and a checksum.", .suffixes = ".clips",
    .reader = "ClipReader", .checks = "Adler-32 of each clip", .probe = probe,
};

static const pfd_op *const ops[] = {&op};
static const pfd_format *const formats[] = {&format};
PFD_PLUGIN_WITH_FORMATS("clip_reader", "1.0", ops, formats)
