/* Showing bytes of a file in a message. */
#include "parse/quote.h"

#include <stdio.h>

const char *pfd_quote_bytes(const uint8_t *data, int64_t size, char *out, size_t capacity)
{
    enum { most = 40 };
    int64_t shown = size < most ? size : most;
    size_t used = 0;
    out[used++] = '\'';
    for (int64_t i = 0; i < shown && used + 10 < capacity; i++) {
        int printable = data[i] >= 0x20 && data[i] < 0x7f && data[i] != '\\' && data[i] != '\'';
        const char *format = printable ? "%c" : "\\x%02x";
        used += (size_t)snprintf(out + used, capacity - used, format, data[i]);
    }
    (void)snprintf(out + used, capacity - used, "'%s", size > shown ? "..." : "");
    return out;
}
