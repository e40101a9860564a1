/* Formats by the bytes that their files begin with. */
#include "text/looks_like.h"

#include "core/bytes.h"

#include <string.h>

typedef struct signature {
    const char *name;
    int64_t at, size;
    const char *bytes;
} signature;

static const signature signatures[] = {
    {"gzip", 0, 2, "\x1f\x8b"},
    {"zstd", 0, 4, "\x28\xb5\x2f\xfd"},
    {"bzip2", 0, 3, "BZh"},
    {"xz", 0, 6, "\xfd\x37zXZ\0"},
    {"a zip archive", 0, 4, "PK\x03\x04"},
    {"a tar archive", 257, 5, "ustar"},
    {"Parquet", 0, 4, "PAR1"},
    {"Arrow IPC", 0, 6, "ARROW1"},
    {"HDF5", 0, 8, "\x89HDF\r\n\x1a\n"},
    {"a NumPy .npy file", 0, 6, "\x93NUMPY"},
    {"a Megatron .idx file", 0, 9, "MMIDIDX\0\0"},
    {"a OneRec file", 0, 8, "^ONEREC$"},
    {"SQLite", 0, 16, "SQLite format 3\0"},
    {"PNG", 0, 8, "\x89PNG\r\n\x1a\n"},
    {"JPEG", 0, 3, "\xff\xd8\xff"},
    {"snappy", 0, 10, "\xff\x06\0\0sNaPpY"},
};

/* RFC 1950: a method, a window, and a check of the two; not the length of a record. */
static int is_zlib(const uint8_t *data, int64_t size)
{
    return size >= 8 && memcmp(data + 4, "\0\0\0", 4) != 0 && (data[0] & 15) == 8 &&
           data[0] >> 4 <= 7 && (data[0] * 256 + data[1]) % 31 == 0;
}

/* A length below 2^32, then a protobuf message with one entry of a map that ends inside it. */
static int is_ofrecord(const uint8_t *data, int64_t size)
{
    if (size < 10 || memcmp(data + 4, "\0\0\0", 4) != 0 || data[8] != 0x0a) return 0;
    uint32_t length = pfd_load_le32(data);
    return length >= 2 && (data[9] >= 0x80 || data[9] + UINT32_C(2) <= length);
}

static int is_text(const uint8_t *data, int64_t size)
{
    int64_t most = size < 512 ? size : 512;
    for (int64_t i = 0; i < most; i++) {
        uint8_t byte = data[i];
        if (byte == 0x7f || (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r')) return 0;
    }
    return most > 0;
}

const char *pfd_looks_like(const uint8_t *data, int64_t size)
{
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const signature *known = &signatures[i];
        if (size >= known->at + known->size &&
            !memcmp(data + known->at, known->bytes, (size_t)known->size))
            return known->name;
    }
    if (is_text(data, size)) return "text";
    if (is_zlib(data, size)) return "zlib";
    return is_ofrecord(data, size) ? "OFRecord" : NULL;
}
