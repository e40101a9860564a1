/* The format of TensorFlow's TFRecord files. */
#include "core/bytes.h"
#include "core/crc32c.h"
#include "pyflowdata/op.h"

/* A length, and that length's checksum. */
static int32_t probe(const pfd_probe_args *args)
{
    if (args->size < 12) return PFD_PROBE_NO;
    uint32_t crc = pfd_crc32c_mask(pfd_crc32c_best()(0, args->data, 8));
    return pfd_load_le32(args->data + 8) == crc ? PFD_PROBE_CERTAIN : PFD_PROBE_NO;
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
};
