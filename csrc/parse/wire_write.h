/* parse/wire_write.h -- writing the wire format of protocol buffers; parse/wire.h reads it.
 *
 * The caller has made room, and has found the size by the functions that end in _bytes.
 */
#ifndef PFD_PARSE_WIRE_WRITE_H
#define PFD_PARSE_WIRE_WRITE_H
#include "parse/wire.h"

/* Bytes of a varint, 1 to 10: 7 bits in each. */
static inline int64_t pfd_varint_bytes(uint64_t value)
{
    int64_t bits = 64 - __builtin_clzll(value | 1);
    return (bits * 9 + 64) >> 6;
}

static inline uint8_t *pfd_put_varint(uint64_t value, uint8_t *to)
{
    while (value >= 0x80) {
        *to++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    return to;
}

/* Bytes of a field with a number up to 15 that holds `size` bytes, which are included. */
static inline int64_t pfd_field_bytes(int64_t size)
{
    return 1 + pfd_varint_bytes((uint64_t)size) + size;
}

/* What stands in front of these bytes. */
static inline uint8_t *pfd_put_field(uint32_t field, int64_t size, uint8_t *to)
{
    *to++ = (uint8_t)PFD_WIRE_TAG(field, PFD_WIRE_BYTES);
    return pfd_put_varint((uint64_t)size, to);
}
#endif
