/* parse/utf8.h -- characters in UTF-8. */
#ifndef PFD_PARSE_UTF8_H
#define PFD_PARSE_UTF8_H
#include <stdint.h>

/* Bytes of the UTF-8 sequence at p, of which `left` are there; 0: none that is well-formed. */
int64_t pfd_utf8_length(const uint8_t *p, int64_t left);

/* Whether all `size` bytes are well-formed UTF-8. */
int32_t pfd_is_utf8(const uint8_t *text, int64_t size);
#endif
