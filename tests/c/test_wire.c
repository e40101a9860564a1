/* The walk over protocol buffers: values, limits, and every place where bytes may end. */
#include "check.h"

#include "parse/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cursor on a copy that ends where the bytes do, for the sanitizer to watch. */
static pfd_wire_cursor copy_of(const void *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    if (size) memcpy(copy, bytes, size);
    return (pfd_wire_cursor){copy, copy + size};
}

static void test_varints(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        uint64_t value;
    } cases[] = {
        {"\x00", 1, 0},
        {"\x7f", 1, 127},
        {"\xac\x02", 2, 300},
        {"\x80\x80\x00", 3, 0}, /* longer than it must be */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9, INT64_MAX},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX},
        {"\x81\x80\x80\x80\x80\x80\x80\x80\x80\x7e", 10, 1}, /* bits above the 64th */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t size = 0; size <= cases[i].size; size++) {
            uint64_t value = 99;
            pfd_wire_cursor c = copy_of(cases[i].bytes, size), begin = c;
            int32_t whole = pfd_wire_varint(&c, &value);
            CHECK(whole == (size == cases[i].size));
            CHECK(c.at == (whole ? c.end : begin.at) && (!whole || value == cases[i].value));
            free((void *)(uintptr_t)begin.at);
        }
    }
    uint64_t value;
    pfd_wire_cursor c = copy_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), begin = c;
    CHECK(!pfd_wire_varint(&c, &value) && c.at == begin.at);
    free((void *)(uintptr_t)begin.at);
}

static void test_tags(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        uint32_t tag;
    } cases[] = {
        {"\x0a", 1, PFD_WIRE_TAG(1, PFD_WIRE_BYTES)},
        {"\x82\x01", 2, PFD_WIRE_TAG(16, PFD_WIRE_BYTES)},
        {"\xfd\xff\xff\xff\x0f", 5, PFD_WIRE_TAG(536870911, PFD_WIRE_FIXED32)},
        {"\x02", 1, 0},                     /* field 0 */
        {"\x80\x80\x80\x80\x10", 5, 0},     /* 2^32 */
        {"\xff\xff\xff\xff\xff", 5, 0},     /* cut */
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pfd_wire_cursor c = copy_of(cases[i].bytes, cases[i].size), begin = c;
        CHECK(pfd_wire_tag(&c) == cases[i].tag);
        CHECK(c.at == (cases[i].tag ? c.end : begin.at));
        free((void *)(uintptr_t)begin.at);
    }
}

static void test_values(void)
{
    pfd_wire_cursor c = copy_of("\x01\x02\x03\x04\x05\x06\x07\x08\x09", 9), begin = c, inner;
    c.at = begin.at + 1;
    CHECK(pfd_wire_bytes(&c, &inner) && inner.end - inner.at == 2 && *inner.at == 3);
    CHECK(c.at == inner.end);
    CHECK(c.at == begin.at + 4 && !pfd_wire_bytes(&c, &inner) && c.at == begin.at + 4);
    free((void *)(uintptr_t)begin.at);
    c = begin = copy_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01z", 11); /* 2^64 - 1 bytes */
    CHECK(!pfd_wire_bytes(&c, &inner) && c.at == begin.at);
    free((void *)(uintptr_t)begin.at);
}

/* Each unknown field is passed over as a whole, or, at every shorter end, not at all. */
static void test_skipping(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        int32_t whole;
    } cases[] = {
        {"\x08\x96\x01", 3, 1},
        {"\x09--------", 9, 1},
        {"\x0a\x03xyz", 5, 1},
        {"\x0d----", 5, 1},
        {"\x0b\x0c", 2, 1},                         /* an empty group */
        {"\x0b\x10\x05\x1b\x1a\x01x\x1c\x0c", 9, 1}, /* a group in it, and fields */
        {"\x0b\x14", 2, 0},                         /* the end of another group */
        {"\x0c", 1, 0},                             /* an end without a beginning */
        {"\x0e", 1, 0},                             /* wire type 6 */
        {"\x0f", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t size = 1; size <= cases[i].size; size++) {
            pfd_wire_cursor c = copy_of(cases[i].bytes, size), begin = c;
            uint32_t tag = pfd_wire_tag(&c);
            int32_t whole = cases[i].whole && size == cases[i].size;
            CHECK(tag && pfd_wire_skip(&c, tag) == whole);
            CHECK(!whole || c.at == c.end);
            free((void *)(uintptr_t)begin.at);
        }
    }
}

static void test_deep_groups(void)
{
    uint8_t bytes[2 * (PFD_WIRE_MOST_GROUPS + 1)];
    for (size_t depth = PFD_WIRE_MOST_GROUPS; depth <= PFD_WIRE_MOST_GROUPS + 1; depth++) {
        memset(bytes, 0x0b, depth);
        memset(bytes + depth, 0x0c, depth);
        pfd_wire_cursor c = copy_of(bytes, 2 * depth), begin = c;
        uint32_t tag = pfd_wire_tag(&c);
        CHECK(pfd_wire_skip(&c, tag) == (depth == PFD_WIRE_MOST_GROUPS));
        free((void *)(uintptr_t)begin.at);
    }
}

int main(void)
{
    test_varints();
    test_tags();
    test_values();
    test_skipping();
    test_deep_groups();
    return report();
}
