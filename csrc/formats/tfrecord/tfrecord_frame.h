/* formats/tfrecord/tfrecord_frame.h -- a record of a TFRecord file: its length, that length's
 * checksum, its bytes, and their checksum; all numbers are little-endian.
 *
 * THREADS  Pure functions.
 */
#ifndef PFD_FORMATS_TFRECORD_TFRECORD_FRAME_H
#define PFD_FORMATS_TFRECORD_TFRECORD_FRAME_H
#include "core/bytes.h"
#include "core/hash.h"

enum {
    PFD_TFRECORD_LENGTH = 8, /* bytes of the length */
    PFD_TFRECORD_HEADER = 12, /* with its checksum */
    PFD_TFRECORD_FOOTER = 4
};

/* Masks a CRC-32C for storage: the CRC of bytes that contain their own CRC is a weak check. */
static inline uint32_t pfd_tfrecord_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* The checksum of bytes as files store it. */
static inline uint32_t pfd_tfrecord_checksum(const uint8_t *data, int64_t size)
{
    return pfd_tfrecord_mask(pfd_crc32c_best()(0, data, size));
}

/* Whether a header's checksum fits its length. */
static inline int32_t pfd_tfrecord_is_header(const uint8_t *header)
{
    return pfd_load_le32(header + PFD_TFRECORD_LENGTH) ==
           pfd_tfrecord_checksum(header, PFD_TFRECORD_LENGTH);
}
#endif
