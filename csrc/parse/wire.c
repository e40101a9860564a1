/* The rare parts of reading protocol buffers: long varints, unknown fields. */
#include "parse/wire.h"

enum { longest_varint = 10 };

const uint8_t *pfd_wire_long_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    int64_t most = end - at < longest_varint ? end - at : longest_varint;
    uint64_t sum = 0;
    for (int64_t i = 0; i < most; i++) {
        uint64_t byte = at[i];
        sum |= (byte & 0x7f) << (7 * i);
        if (byte >= 0x80) continue;
        *value = sum;
        return at + i + 1;
    }
    return NULL;
}

static int32_t skip_bytes(pfd_wire_cursor *c, int64_t size)
{
    if (c->end - c->at < size) return 0;
    c->at += size;
    return 1;
}

/* A group ends with the tag of its end; those that are open inside each other are on the stack. */
static int32_t skip_group(pfd_wire_cursor *c, uint32_t tag)
{
    uint32_t open[PFD_WIRE_MOST_GROUPS] = {PFD_WIRE_FIELD(tag)};
    int32_t depth = 1;
    while (depth > 0) {
        const uint8_t *begin = c->at;
        uint32_t inner = pfd_wire_tag(c), field = PFD_WIRE_FIELD(inner);
        int32_t starts = PFD_WIRE_TYPE(inner) == PFD_WIRE_GROUP;
        int32_t ends = PFD_WIRE_TYPE(inner) == PFD_WIRE_GROUP_END;
        if (!inner) return 0;
        if ((starts && depth == PFD_WIRE_MOST_GROUPS) || (ends && field != open[depth - 1])) {
            c->at = begin;
            return 0;
        }
        if (ends)
            depth--;
        else if (starts)
            open[depth++] = field;
        else if (!pfd_wire_skip(c, inner))
            return 0;
    }
    return 1;
}

int32_t pfd_wire_skip(pfd_wire_cursor *c, uint32_t tag)
{
    pfd_wire_cursor bytes;
    uint64_t number;
    switch (PFD_WIRE_TYPE(tag)) {
    case PFD_WIRE_VARINT:
        return pfd_wire_varint(c, &number);
    case PFD_WIRE_FIXED64:
        return skip_bytes(c, 8);
    case PFD_WIRE_BYTES:
        return pfd_wire_bytes(c, &bytes);
    case PFD_WIRE_GROUP:
        return skip_group(c, tag);
    case PFD_WIRE_FIXED32:
        return skip_bytes(c, 4);
    default: /* the end of a group that did not begin, or no wire type */
        return 0;
    }
}
