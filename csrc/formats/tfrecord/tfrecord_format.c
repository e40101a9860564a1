/* The format of TensorFlow's TFRecord files. */
#include "formats/tfrecord/tfrecord_frame.h"
#include "pyflowdata/op.h"

static int32_t probe(const pfd_probe_args *args)
{
    if (args->size < PFD_TFRECORD_HEADER) return PFD_PROBE_NO;
    return pfd_tfrecord_is_header(args->data) ? PFD_PROBE_CERTAIN : PFD_PROBE_NO;
}

/* Checks the length first, which is fast: most other bytes are a far too large length. */
static int64_t resync(const uint8_t *data, int64_t size, int64_t from)
{
    int64_t least = PFD_TFRECORD_HEADER + PFD_TFRECORD_FOOTER;
    for (int64_t at = from; at <= size - least; at++)
        if (pfd_load_le64(data + at) <= (uint64_t)(size - least - at) &&
            pfd_tfrecord_is_header(data + at))
            return at;
    return size;
}

const pfd_format pfd_format_tfrecord = {
    .struct_size = sizeof(pfd_format),
    .name = "tfrecord",
    .title = "TFRecord",
    .doc = "TensorFlow's records with checksums, mostly Examples.",
    .suffixes = ".tfrecord|.tfrecords|.tfr",
    .reader = "TFRecordReader",
    .decoders = "ExampleDecoder|SequenceExampleDecoder",
    .checks = "CRC-32C of lengths and data",
    .probe = probe,
    .resync = resync,
};
