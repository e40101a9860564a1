#include "parse/utf8.h"

int64_t pfd_utf8_length(const uint8_t *p, int64_t left)
{
    int64_t size = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (size == 0 || p[0] > 0xf4 || size > left) return 0;
    for (int64_t i = 1; i < size; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)) return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) return 0;
    return size;
}

int32_t pfd_is_utf8(const uint8_t *text, int64_t size)
{
    int64_t length;
    for (int64_t at = 0; at < size; at += length) {
        length = pfd_utf8_length(text + at, size - at);
        if (!length) return 0;
    }
    return 1;
}
