/* The orientation in EXIF data: one entry of the first directory of a TIFF header. */
#include "images/codecs/exif.h"

#include "core/bytes.h"

#include <string.h>

typedef struct tiff {
    const uint8_t *data;
    int64_t size;
    int32_t is_big_endian;
} tiff;

/* Of 2 or 4 bytes; 0 past the end. */
static uint32_t number_at(const tiff *file, int64_t at, int32_t bytes)
{
    if (at + bytes > file->size) return 0;
    const uint8_t *from = file->data + at;
    if (file->is_big_endian) return (uint32_t)pfd_load_be(from, bytes);
    return bytes == 2 ? pfd_load_le16(from) : pfd_load_le32(from);
}

int32_t pfd_exif_orientation(const uint8_t *data, int64_t size)
{
    enum { ORIENTATION = 0x112, SHORT = 3, ENTRY_BYTES = 12 };
    if (size >= 6 && !memcmp(data, "Exif\0\0", 6)) {
        data += 6;
        size -= 6;
    }
    if (size < 8 || (memcmp(data, "II*\0", 4) != 0 && memcmp(data, "MM\0*", 4) != 0)) return 1;
    tiff file = {data, size, data[0] == 'M'};
    int64_t directory = number_at(&file, 4, 4);
    int64_t entries = number_at(&file, directory, 2);
    for (int64_t i = 0; i < entries; i++) {
        int64_t at = directory + 2 + i * ENTRY_BYTES;
        if (at + ENTRY_BYTES > size) return 1;
        if (number_at(&file, at, 2) != ORIENTATION) continue;
        uint32_t value = number_at(&file, at + 2, 2) == SHORT ? number_at(&file, at + 8, 2) : 0;
        return value >= 1 && value <= 8 ? (int32_t)value : 1;
    }
    return 1;
}
