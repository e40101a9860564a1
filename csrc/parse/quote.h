/* parse/quote.h -- showing bytes of a file in a message. */
#ifndef PFD_PARSE_QUOTE_H
#define PFD_PARSE_QUOTE_H
#include <stddef.h>
#include <stdint.h>

/* A short, printable, quoted copy of bytes found in a file: control and non-ASCII bytes as \xNN,
 * at most 40 of them, then "...".  `out` holds `capacity` >= 200 bytes; returns out. */
const char *pfd_quote_bytes(const uint8_t *data, int64_t size, char *out, size_t capacity);
#endif
