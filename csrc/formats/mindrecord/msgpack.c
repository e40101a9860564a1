/* Reads MessagePack: a value is a byte with the type, then a length or the value, big-endian. */
#include "formats/mindrecord/msgpack.h"

#include "core/bytes.h"

#include <string.h>

static int32_t refuse(pfd_msgpack *cursor, int64_t begin, const char *problem)
{
    cursor->at = begin;
    if (!cursor->problem) cursor->problem = problem;
    return 0;
}

/* Takes a big-endian number of 1, 2, 4 or 8 bytes.  Returns 0 if the bytes end before. */
static int32_t take_number(pfd_msgpack *cursor, int32_t bytes, uint64_t *value)
{
    if (cursor->size - cursor->at < bytes) return 0;
    *value = pfd_load_be(cursor->data + cursor->at, bytes);
    cursor->at += bytes;
    return 1;
}

static void put_integer(pfd_msgpack_value *value, int64_t integer)
{
    value->kind = PFD_MSGPACK_INT;
    value->integer = integer;
}

/* Takes a string, bytes or extension of `size` bytes. */
static int32_t take_bytes(pfd_msgpack *cursor, int32_t kind, uint64_t size,
                          pfd_msgpack_value *value)
{
    uint64_t type;
    if (kind == PFD_MSGPACK_EXTENSION) {
        if (!take_number(cursor, 1, &type)) return 0;
        value->integer = (int8_t)type;
    }
    if (size > (uint64_t)(cursor->size - cursor->at)) return 0;
    value->kind = kind;
    value->data = cursor->data + cursor->at;
    value->size = (int64_t)size;
    cursor->at += (int64_t)size;
    return 1;
}

/* Takes the head of an array or map of `count` elements or pairs, each of at least one byte. */
static int32_t take_head(const pfd_msgpack *cursor, int32_t kind, uint64_t count,
                         pfd_msgpack_value *value)
{
    uint64_t each = kind == PFD_MSGPACK_MAP ? 2 : 1;
    if (count > (uint64_t)(cursor->size - cursor->at) / each) return 0;
    value->kind = kind;
    value->size = (int64_t)count;
    return 1;
}

/* Takes a value of type 0xc4 to 0xc9 or 0xd9 to 0xdf: a length of 1, 2 or 4 bytes, then that many
 * bytes or values. */
static int32_t take_sized(pfd_msgpack *cursor, uint8_t type, pfd_msgpack_value *value)
{
    uint64_t size;
    if (type >= 0xdc) {
        if (!take_number(cursor, type % 2 ? 4 : 2, &size)) return 0;
        return take_head(cursor, type < 0xde ? PFD_MSGPACK_ARRAY : PFD_MSGPACK_MAP, size, value);
    }
    int32_t kind = type >= 0xd9   ? PFD_MSGPACK_STRING
                   : type >= 0xc7 ? PFD_MSGPACK_EXTENSION
                                  : PFD_MSGPACK_BINARY;
    int32_t first = kind == PFD_MSGPACK_STRING ? 0xd9 : kind == PFD_MSGPACK_BINARY ? 0xc4 : 0xc7;
    if (!take_number(cursor, 1 << (type - first), &size)) return 0;
    return take_bytes(cursor, kind, size, value);
}

static int32_t take_float(pfd_msgpack *cursor, int32_t bytes, pfd_msgpack_value *value)
{
    uint64_t bits;
    if (!take_number(cursor, bytes, &bits)) return 0;
    value->kind = PFD_MSGPACK_FLOAT;
    if (bytes == 8) {
        memcpy(&value->number, &bits, sizeof bits);
    } else {
        uint32_t low = (uint32_t)bits;
        float number;
        memcpy(&number, &low, sizeof low);
        value->number = (double)number;
    }
    return 1;
}

static int32_t take_integer(pfd_msgpack *cursor, uint8_t type, pfd_msgpack_value *value)
{
    int32_t bytes = 1 << (type & 3); /* 0xcc to 0xcf unsigned, 0xd0 to 0xd3 signed */
    uint64_t bits;
    if (!take_number(cursor, bytes, &bits)) return 0;
    if (type >= 0xd0) {
        int32_t unused = 64 - 8 * bytes;
        put_integer(value, (int64_t)(bits << unused) >> unused);
    } else {
        put_integer(value, (int64_t)bits);
        if (bits > INT64_MAX) value->kind = PFD_MSGPACK_UINT64;
    }
    return 1;
}

static int32_t take_value(pfd_msgpack *cursor, uint8_t type, pfd_msgpack_value *value)
{
    if (type < 0x80 || type >= 0xe0) return put_integer(value, (int8_t)type), 1;
    if (type < 0x90) return take_head(cursor, PFD_MSGPACK_MAP, type & 0x0f, value);
    if (type < 0xa0) return take_head(cursor, PFD_MSGPACK_ARRAY, type & 0x0f, value);
    if (type < 0xc0) return take_bytes(cursor, PFD_MSGPACK_STRING, type & 0x1f, value);
    if (type == 0xc0) return 1;
    if (type == 0xc2 || type == 0xc3) {
        put_integer(value, type & 1);
        value->kind = PFD_MSGPACK_BOOL;
        return 1;
    }
    if (type == 0xca || type == 0xcb) return take_float(cursor, type == 0xca ? 4 : 8, value);
    if (type >= 0xcc && type <= 0xd3) return take_integer(cursor, type, value);
    if (type >= 0xd4 && type <= 0xd8)
        return take_bytes(cursor, PFD_MSGPACK_EXTENSION, 1ull << (type - 0xd4), value);
    return take_sized(cursor, type, value);
}

int32_t pfd_msgpack_next(pfd_msgpack *cursor, pfd_msgpack_value *value)
{
    int64_t begin = cursor->at;
    *value = (pfd_msgpack_value){.kind = PFD_MSGPACK_NIL};
    if (cursor->problem) return 0;
    if (begin >= cursor->size) return refuse(cursor, begin, "expected a value, found the end");
    uint8_t type = cursor->data[cursor->at++];
    if (type == 0xc1) return refuse(cursor, begin, "expected a type, found the unused byte 0xc1");
    if (!take_value(cursor, type, value))
        return refuse(cursor, begin, "the bytes end inside this value");
    return 1;
}

int32_t pfd_msgpack_skip(pfd_msgpack *cursor)
{
    /* take_head() accepts at most as many values as bytes are left, so the sum cannot overflow
     * before the bytes end. */
    uint64_t left = 1;
    while (left > 0) {
        pfd_msgpack_value value;
        if (!pfd_msgpack_next(cursor, &value)) return 0;
        left--;
        if (value.kind == PFD_MSGPACK_ARRAY) left += (uint64_t)value.size;
        if (value.kind == PFD_MSGPACK_MAP) left += 2 * (uint64_t)value.size;
        if (left > (uint64_t)(cursor->size - cursor->at))
            return refuse(cursor, cursor->at, "expected more values than there are bytes");
    }
    return 1;
}

const char *pfd_msgpack_kind_name(int32_t kind)
{
    static const char *const names[] = {"nil",         "a bool",       "an integer",
                                        "an integer",  "a float",      "a string",
                                        "binary data", "an extension", "an array",
                                        "a map"};
    return kind >= 0 && kind < (int32_t)(sizeof names / sizeof *names) ? names[kind] : "a value";
}
