/* Formats by the bytes that their files begin with. */
#include "parse/looks_like.h"

#include "core/bytes.h"
#include "core/crc32c.h"

#include <stdio.h>
#include <string.h>

typedef struct signature {
    const char *name;
    int64_t at, size;
    const char *bytes;
} signature;

static const signature signatures[] = {
    {"gzip", 0, 3, "\x1f\x8b\x08"}, /* two bytes alone begin numbers as well */
    {"zstd", 0, 4, "\x28\xb5\x2f\xfd"},
    {"bzip2", 0, 3, "BZh"},
    {"xz", 0, 6, "\xfd\x37zXZ\0"},
    {"a zip archive", 0, 4, "PK\x03\x04"},
    {"a tar archive (TarReader reads it)", 257, 5, "ustar"},
    {"Parquet", 0, 4, "PAR1"},
    {"Arrow IPC", 0, 6, "ARROW1"},
    {"HDF5", 0, 8, "\x89HDF\r\n\x1a\n"},
    {"a NumPy .npy file (NpyReader reads it)", 0, 6, "\x93NUMPY"},
    {"a Megatron .idx file (MegatronReader reads it)", 0, 9, "MMIDIDX\0\0"},
    {"a OneRec file (OneRecReader reads it)", 0, 8, "^ONEREC$"},
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

/* A length, and that length's checksum. */
static int is_tfrecord(const uint8_t *data, int64_t size)
{
    return size >= 12 && pfd_load_le32(data + 8) == pfd_crc32c_mask(pfd_crc32c_best()(0, data, 8));
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

/* The checksum comes first: a length may have the bytes of any signature. */
static const char *name_of(const uint8_t *data, int64_t size)
{
    if (is_tfrecord(data, size)) return "TFRecord (TFRecordReader reads it)";
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const signature *known = &signatures[i];
        if (size >= known->at + known->size &&
            !memcmp(data + known->at, known->bytes, (size_t)known->size))
            return known->name;
    }
    if (is_text(data, size)) return "text";
    if (is_zlib(data, size)) return "zlib";
    return is_ofrecord(data, size) ? "OFRecord (OFRecordReader reads it)" : NULL;
}

const char *pfd_looks_like(const uint8_t *data, int64_t size, const char *own)
{
    const char *name = name_of(data, size);
    return name && own && !strncmp(name, own, strlen(own)) ? NULL : name;
}

const char *pfd_looks_compressed(const uint8_t *data, int64_t size)
{
    const char *name = name_of(data, size);
    return name && (!strcmp(name, "gzip") || !strcmp(name, "zstd")) ? name : NULL;
}

/* How long the file is, is not known of one that is decompressed. */
const char *pfd_file_looks_like(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                                const char *own)
{
    enum { most = 512, least = 2 };
    const uint8_t *data;
    for (int64_t size = file->size > 0 && file->size < most ? file->size : most; size >= least;
         size /= 2) {
        pfd_error ignored = {.struct_size = sizeof ignored};
        if (host->read(file, 0, size, scratch, &data, &ignored) == PFD_OK)
            return pfd_looks_like(data, size, own);
    }
    return NULL;
}

const char *pfd_looks_like_hint(const char *seems, const char *otherwise, char *out,
                                size_t capacity)
{
    if (!seems) return otherwise;
    (void)snprintf(out, capacity, "; it looks like %s", seems);
    return out;
}
