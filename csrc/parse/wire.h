/* parse/wire.h -- reading and writing bytes in the wire format of protocol buffers.
 *
 * A message is fields, each a tag (number and wire type) and a value, in any order and any number;
 * the reader of a message passes over fields that it does not know.  A cursor stands on a message's
 * bytes and moves over them; it looks at nothing outside them and allocates nothing.
 *
 *     pfd_wire_cursor c = {data, data + size};
 *     while (c.at < c.end) {
 *         uint32_t tag = pfd_wire_tag(&c);
 *         if (tag == PFD_WIRE_TAG(1, PFD_WIRE_BYTES) && pfd_wire_bytes(&c, &inner)) ...
 *         else if (!tag || !pfd_wire_skip(&c, tag)) the message is damaged at c.at
 *     }
 *
 * ERRORS   A function that returns 0 found the bytes damaged, and left the cursor where the damage
 *          begins: at the tag or value that is wrong, or that needs more bytes than there are.
 */
#ifndef PFD_PARSE_WIRE_H
#define PFD_PARSE_WIRE_H
#include "core/bytes.h"

#include <stdint.h>
#include <string.h>

/* ---- Reading --------------------------------------------------------------------------------- */

#define PFD_WIRE_VARINT 0u
#define PFD_WIRE_FIXED64 1u
#define PFD_WIRE_BYTES 2u /* length, and so many bytes: strings, messages, packed numbers */
#define PFD_WIRE_GROUP 3u
#define PFD_WIRE_GROUP_END 4u
#define PFD_WIRE_FIXED32 5u

#define PFD_WIRE_TAG(field, type) ((uint32_t)(field) << 3 | (type))
#define PFD_WIRE_FIELD(tag) ((tag) >> 3)
#define PFD_WIRE_TYPE(tag) ((tag) & 7u)

#define PFD_WIRE_MOST_GROUPS 100 /* inside each other; deeper ones are damage */

typedef struct pfd_wire_cursor {
    const uint8_t *at;
    const uint8_t *end;
} pfd_wire_cursor;

/* A varint of three bytes or more at a place, or one that is cut: where it ends, or NULL. */
const uint8_t *pfd_wire_long_varint(const uint8_t *at, const uint8_t *end, uint64_t *value);

/* A varint: at most ten bytes; bits above the 64th are dropped, as the protobuf library does.
 * Signed numbers are the same bits: cast to int64_t. */
static inline int32_t pfd_wire_varint(pfd_wire_cursor *c, uint64_t *value)
{
    const uint8_t *at = c->at;
    if (at < c->end && at[0] < 0x80) {
        *value = at[0];
        c->at = at + 1;
        return 1;
    }
    if (c->end - at >= 2 && at[1] < 0x80) {
        *value = (uint64_t)at[0] - 0x80 + ((uint64_t)at[1] << 7);
        c->at = at + 2;
        return 1;
    }
    uint64_t found = 0; /* cursor and value stay in registers where nobody else has their address */
    at = pfd_wire_long_varint(at, c->end, &found);
    if (!at) return 0;
    *value = found;
    c->at = at;
    return 1;
}

/* The next tag.  0: there is none, or its field number is 0 or above 2^29 - 1. */
static inline uint32_t pfd_wire_tag(pfd_wire_cursor *c)
{
    if (c->at < c->end && *c->at < 0x80 && *c->at >= 8) return *c->at++;
    pfd_wire_cursor after = *c;
    uint64_t tag = 0;
    if (!pfd_wire_varint(&after, &tag) || tag < 8 || tag > UINT32_MAX) return 0;
    *c = after;
    return (uint32_t)tag;
}

/* The value of a field of type PFD_WIRE_BYTES: a cursor on its bytes; c moves past them. */
static inline int32_t pfd_wire_bytes(pfd_wire_cursor *c, pfd_wire_cursor *value)
{
    const uint8_t *begin = c->at;
    uint64_t size;
    if (!pfd_wire_varint(c, &size)) return 0;
    if (size > (uint64_t)(c->end - c->at)) {
        c->at = begin;
        return 0;
    }
    value->at = c->at;
    value->end = c->at += size;
    return 1;
}

/* Passes over the value of a field, whatever its type, whose tag was read last. */
int32_t pfd_wire_skip(pfd_wire_cursor *c, uint32_t tag);

/* ---- Writing --------------------------------------------------------------------------------- */

/* The caller has made room, and has found the size by the functions that end in _bytes. */

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

/* Writes the tag and the size in front of those bytes. */
static inline uint8_t *pfd_put_field(uint32_t field, int64_t size, uint8_t *to)
{
    *to++ = (uint8_t)PFD_WIRE_TAG(field, PFD_WIRE_BYTES);
    return pfd_put_varint((uint64_t)size, to);
}
#endif
