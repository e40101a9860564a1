/* Where the next TFRecord begins in bytes that are damaged. */
#include "pyflowdata/pyflowdata.h"

#include "core/crc32c.h"

enum { length_bytes = 8, header_bytes = 12, footer_bytes = 4 };

static uint64_t load(const uint8_t *data, int32_t size)
{
    uint64_t value = 0;
    for (int32_t i = size - 1; i >= 0; i--) value = value << 8 | data[i];
    return value;
}

/* The length is looked at first: of most bytes it is far too large, which costs next to nothing. */
int64_t pfd_find_tf_record(const void *data, int64_t size, int64_t from)
{
    pfd_crc32c_fn crc32c = pfd_crc32c_best();
    const uint8_t *bytes = data;
    for (int64_t at = from; at <= size - header_bytes - footer_bytes; at++) {
        uint64_t length = load(bytes + at, length_bytes);
        if (length > (uint64_t)(size - header_bytes - footer_bytes - at)) continue;
        uint32_t stored = (uint32_t)load(bytes + at + length_bytes, header_bytes - length_bytes);
        if (stored == pfd_crc32c_mask(crc32c(0, bytes + at, length_bytes))) return at;
    }
    return size;
}
