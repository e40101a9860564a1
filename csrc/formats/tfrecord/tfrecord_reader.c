/* TFRecordReader: the records of TensorFlow's TFRecord files, as bytes. */
#include "core/op_shorthand.h"
#include "files/file_hint.h"
#include "formats/tfrecord/tfrecord_frame.h"

#include <inttypes.h>

typedef struct tfrecord_reader {
    int32_t check_crc;
} tfrecord_reader;

/* Reports bytes that are not a header: the file has another format, or is damaged. */
static pfd_status fail_header(const pfd_frame_args *args, const uint8_t *header, pfd_error *err)
{
    const pfd_host *host = args->host;
    uint32_t expected = pfd_tfrecord_checksum(header, PFD_TFRECORD_LENGTH);
    uint32_t found = pfd_load_le32(header + PFD_TFRECORD_LENGTH);
    const char *seems = NULL;
    if (args->offset == 0) seems = pfd_file_looks_like(host, args->file, args->scratch, "tfrecord");
    if (seems)
        return host->fail_file(err, args->file, 0, PFD_CORRUPT_DATA,
                               "this is not a TFRecord file: it looks like %s", seems);
    if (args->offset == 0)
        return host->fail_file(err, args->file, 0, PFD_CORRUPT_DATA,
                               "this is not a TFRecord file, or its first record's length is "
                               "damaged: its checksum is 0x%08" PRIx32
                               ", but the file has 0x%08" PRIx32,
                               expected, found);
    return host->fail_file(err, args->file, args->offset, PFD_CORRUPT_DATA,
                           "the length of the record that begins here is damaged: its checksum is "
                           "0x%08" PRIx32 ", but the file has 0x%08" PRIx32
                           "; the reader cannot find the records after it; `pyflowdata verify` "
                           "searches for them",
                           expected, found);
}

static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    const uint8_t *header;
    PFD_TRY(args->host->read(args->file, args->offset, PFD_TFRECORD_HEADER, args->scratch, &header,
                             err));
    if (!pfd_tfrecord_is_header(header)) return fail_header(args, header, err);
    uint64_t length = pfd_load_le64(header);
    if (length > (uint64_t)(INT64_MAX - args->offset - PFD_TFRECORD_HEADER - PFD_TFRECORD_FOOTER))
        return args->host->fail_file(err, args->file, args->offset, PFD_CORRUPT_DATA,
                                     "a record of %" PRIu64 " bytes begins here; no file is that "
                                     "large",
                                     length);
    out->data = args->offset + PFD_TFRECORD_HEADER;
    out->size = (int64_t)length + PFD_TFRECORD_FOOTER;
    out->next = out->data + out->size;
    return PFD_OK;
}

PFD_OPEN_FRAMES(frame)

PFD_INFER_BYTES

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const tfrecord_reader *attrs = args->attrs;
    for (int64_t i = 0; i < args->num_rows; i++) {
        const pfd_record *record = &args->records[i];
        int64_t size = record->size - PFD_TFRECORD_FOOTER;
        if (attrs->check_crc) {
            uint32_t expected = pfd_tfrecord_checksum(record->data, size);
            uint32_t found = pfd_load_le32(record->data + size);
            if (found != expected)
                return args->host->fail_row(err, i, 0, PFD_CORRUPT_DATA,
                                            "the %" PRId64 " bytes of the record have the checksum "
                                            "0x%08" PRIx32 ", but the file has 0x%08" PRIx32,
                                            size, expected, found);
        }
        args->outputs[0]->rows[i] = (pfd_ragged_row){record->data, size, NULL};
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_BOOL_ATTR(tfrecord_reader, check_crc, "true",
                  "Whether to compare each record's bytes with their checksum; its length is "
                  "always compared."),
};

static const pfd_port outputs[] = {
    {"out", "The bytes of each record, ragged uint8; ExampleDecoder takes them apart."},
};

const pfd_op pfd_op_tfrecord_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "TFRecordReader",
    .doc = "Reads the records of TensorFlow's TFRecord files as bytes. "
           "Both checksums of a record are checked. A damaged length, or a file that ends inside a "
           "record, is an error of the file when it is opened, because the records after it cannot "
           "be found. Damaged bytes are an error of one record, which on_error can skip. An empty "
           "file has no records.",
    PFD_OP_ATTRS(tfrecord_reader, attr_table),
};
