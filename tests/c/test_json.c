/* Tests of the cursors over JSON and MessagePack: what they accept, and any bytes at all. Prints
 * "N passed, N failed". */
#include "check.h"

#include "core/random.h"
#include "formats/mindrecord/msgpack.h"
#include "parse/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy that ends where its memory does, so that a sanitizer sees a read too far. */
static uint8_t *copy_of(const void *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    return copy;
}

/* The same cursor without wide vectors. */
static pfd_json narrow(pfd_json json)
{
    json.is_wide = 0;
    return json;
}

static int32_t is_json(const char *text, size_t size)
{
    uint8_t *copy = copy_of(text, size);
    pfd_json json = pfd_json_begin(copy, (int64_t)size), same = narrow(json);
    pfd_json_skip(&json);
    pfd_json_skip(&same);
    int32_t ok = pfd_json_end(&json);
    CHECK(ok == !json.problem && json.at >= 0 && json.at <= json.size);
    CHECK(pfd_json_end(&same) == ok && same.at == json.at && same.problem == json.problem);
    free(copy);
    return ok;
}

static void json_is_strict(void)
{
    static const char *const good[] = {
        "0", "-0", "-1.5e+10", "1E2", "true", "false", "null", "\"\"", "[]", "{}", " [ 1 , 2 ] ",
        "{\"a\":[{}],\"\":null}", "\"\\u00e9\\ud83d\\ude00\\n\\/\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"",
        "\t[\n1\r]\n"};
    static const char *const bad[] = {
        "", " ", "01", "-", "+1", "1.", ".5", "1e", "1e+", "tru", "True", "nul", "NaN", "'a'",
        "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud83d\"", "\"\\ude00\"",
        "\"\\ud83d\\u0041\"", "\"\n\"", "\"\xc3\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]",
        "{", "{\"a\"", "{\"a\":", "{\"a\":1,", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "{,}", "[}",
        "{]", "1 2", "[] []", "//", "[1]x"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(is_json(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!is_json(bad[i], strlen(bad[i])));
    char deep[2 * 100];
    for (int depth = 1; depth <= 100; depth++) {
        memset(deep, '[', (size_t)depth);
        memset(deep + depth, ']', (size_t)depth);
        CHECK(is_json(deep, 2 * (size_t)depth) == (depth <= PFD_JSON_DEPTH));
    }
}

/* Whether a string is read alike, with what it means decoded then, and copied as it is read. */
static int32_t is_read_alike(const char *text, size_t size)
{
    uint8_t *copy = copy_of(text, size), *meant = copy_of(text, size), *out = copy_of(text, size);
    pfd_json one = pfd_json_begin(copy, (int64_t)size), two = one;
    pfd_json_text whole, decoded;
    int32_t is_good = pfd_json_string(&one, &whole);
    int32_t is_alike = pfd_json_string_copy(&two, (char *)out, &decoded);
    is_alike = is_alike == is_good && one.problem == two.problem && one.at == two.at;
    if (is_good && is_alike) {
        int64_t all = pfd_json_decode(&whole, (char *)meant);
        is_alike = all == decoded.size && !memcmp(meant, decoded.data, (size_t)all);
        is_alike &= decoded.data == (whole.has_escapes ? out : whole.data);
    }
    free(out);
    free(meant);
    free(copy);
    return is_alike;
}

/* Strings are read in blocks of 64 bytes: each kind of byte at each place of strings of all sizes
 * around a block. */
static void strings_of_all_sizes(void)
{
    static const struct {
        const char *piece;
        int32_t is_good;
    } pieces[] = {
        {"a", 1},    {"\\n", 1},     {"\\u00e9", 1}, {"\\ud83d\\ude00", 1},
        {"\\x", 0},  {"\\ud83d", 0}, {"\x1f", 0},     {"\xf0\x9f\x98\x80", 1},
        {"\xff", 0}, {"\xc3", 0},    {"\"", 0},       {"\xc3\xa9", 1},
    };
    char text[256];
    for (size_t kind = 0; kind < sizeof pieces / sizeof *pieces; kind++) {
        size_t size = strlen(pieces[kind].piece);
        for (size_t length = size; length < 140; length++) {
            for (size_t at = 0; at + size <= length; at++) {
                memset(text, 'x', sizeof text);
                text[0] = text[length + 1] = '"';
                memcpy(text + 1 + at, pieces[kind].piece, size);
                CHECK(is_json(text, length + 2) == pieces[kind].is_good);
                CHECK(!is_json(text, length + 1) || pieces[kind].piece[0] == '"');
                CHECK(is_read_alike(text, length + 2) && is_read_alike(text, length + 1));
                if (at < 2) continue;
                memcpy(text + 1, "\\t", 2);
                CHECK(is_read_alike(text, length + 2) && is_read_alike(text, length + 1));
            }
        }
    }
}

static int32_t read_int64(const char *text, int64_t *value)
{
    pfd_json json = pfd_json_begin((const uint8_t *)text, (int64_t)strlen(text));
    return pfd_json_int64(&json, value) && pfd_json_end(&json);
}

static void json_integers_are_exact(void)
{
    int64_t value;
    CHECK(read_int64("9223372036854775807", &value) && value == INT64_MAX);
    CHECK(read_int64("-9223372036854775808", &value) && value == INT64_MIN);
    CHECK(read_int64("-0", &value) && value == 0);
    CHECK(!read_int64("9223372036854775808", &value));
    CHECK(!read_int64("-9223372036854775809", &value));
    CHECK(!read_int64("1.0", &value) && !read_int64("1e3", &value) && !read_int64("012", &value));
    CHECK(!read_int64("\"1\"", &value) && !read_int64("-", &value) && !read_int64("", &value));
}

static void json_strings_are_decoded(void)
{
    static const char text[] = "{\"\\u0061\\t\\u00e9\\u20ac\\ud83d\\ude00\\\\\":1}";
    static const char meant[] = "a\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\";
    pfd_json json = pfd_json_begin((const uint8_t *)text, (int64_t)sizeof text - 1);
    pfd_json_text key;
    CHECK(pfd_json_enter(&json, '{') && pfd_json_member(&json, &key));
    CHECK(pfd_json_equals(&key, meant) && !pfd_json_equals(&key, "a"));
    char *out = malloc((size_t)key.size);
    CHECK(out && pfd_json_decode(&key, out) == (int64_t)sizeof meant - 1);
    CHECK(memcmp(out, meant, sizeof meant - 1) == 0);
    free(out);
}

/* Texts of what JSON is made of, in any order. */
static void any_bytes_are_no_danger_to_json(void)
{
    static const char pieces[] =
        "{}[]\"\\,:0123456789.eE+-tfnrualse \n\x01\xc3\xa9\xf0\x9f\x98\x80";
    char text[40];
    for (uint64_t i = 0; i < 300000; i++) {
        uint64_t draw = pfd_random_bits(1, i);
        size_t size = draw % sizeof text;
        for (size_t k = 0; k < size; k++)
            text[k] = pieces[pfd_random_bits(draw, k) % (sizeof pieces - 1)];
        is_json(text, size);
        if (size > 0) text[0] = '"';
        CHECK(is_read_alike(text, size));
    }
}

/* Passes the value after some blanks, which move it to other places of blocks. */
static pfd_json pass_after(int64_t blanks, const uint8_t *text, int64_t size)
{
    uint8_t *copy = malloc((size_t)(blanks + size) + 1);
    if (!copy) abort();
    memset(copy, ' ', (size_t)blanks);
    memcpy(copy + blanks, text, (size_t)size);
    uint8_t *exact = copy_of(copy, (size_t)(blanks + size));
    pfd_json json = pfd_json_begin(exact, blanks + size);
    (void)pfd_json_skip(&json);
    free(exact);
    free(copy);
    return json;
}

/* Strings of any bytes, numbers and members, wherever they are in blocks of 64 bytes: the same end
 * and the same problem at the same byte. */
static void places_in_blocks_do_not_matter(void)
{
    static const char *const pieces[] = {
        "\"", "\\n", "\\u00e9", "\xc3\xa9", "\xe2\x82", "1234567890", "-0", ".5", "1e9",
        "12345678901234567890", ",", ":", "\"a\":", "[", "]", "{", "}", " ", "null",
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""};
    uint8_t text[1024];
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t draw = pfd_random_bits(3, i);
        int64_t size = 0;
        text[size++] = draw & 1 ? '"' : '[';
        for (uint64_t k = 0; k < draw / 4 % 40; k++) {
            uint64_t bits = pfd_random_bits(draw, k);
            const char *piece = pieces[bits % (sizeof pieces / sizeof *pieces)];
            if (draw & 2) text[size++] = (uint8_t)(bits >> 8 & 15 ? 'a' + bits % 20 : bits >> 16);
            else for (; *piece; piece++) text[size++] = (uint8_t)*piece;
        }
        text[size++] = draw & 1 ? '"' : ']';
        pfd_json first = pass_after(0, text, size);
        for (uint64_t k = 0; k < 3; k++) {
            int64_t blanks = (int64_t)(pfd_random_bits(draw, 100 + k) % 130);
            pfd_json moved = pass_after(blanks, text, size);
            CHECK(moved.at == first.at + blanks && moved.problem == first.problem);
        }
    }
}

/* What two cursors over one object say, the second one with the trail of objects before. */
static void check_trail(pfd_json alone, uint64_t names, pfd_json_lead *trail)
{
    pfd_json known = alone;
    pfd_json_text key, same;
    known.trail = trail;
    (void)pfd_json_enter(&alone, '{');
    (void)pfd_json_enter(&known, '{');
    while (pfd_json_member_of(&alone, names, &key)) {
        CHECK(pfd_json_member_of(&known, names, &same));
        CHECK(key.data == same.data && key.size == same.size);
        CHECK(pfd_json_skip(&alone) == pfd_json_skip(&known) && alone.at == known.at);
    }
    CHECK(!pfd_json_member_of(&known, names, &same) && alone.at == known.at);
    CHECK(alone.problem == known.problem && alone.depth == known.depth);
}

/* Objects of like members, some with other blanks, names, order or faults: a trail changes nothing,
 * wherever the text ends. */
static void trails_change_nothing(void)
{
    static const char *const pieces[] = {
        "\"a\": 1", ", ", "\"name\": \"x\"", ",", "\"a\":{\"a\": 1}",
        ", \"b\":{\"a\" :2, \"c\":3}", ", \"longer than a word\": null", "}", "{",
        ",\"\\u0061\":[{\"a\": 1}]", ", \"a\"", ":", "\""};
    const uint64_t names[] = {UINT64_MAX, 0, pfd_json_name_bit("name", 4)};
    pfd_json_lead trails[2][3][PFD_JSON_TRAIL] = {0};
    for (uint64_t i = 0; i < 30000; i++) {
        uint64_t draw = pfd_random_bits(5, i / 3), size = 1;
        uint8_t text[512] = "{";
        for (uint64_t k = 0; k < draw % 9; k++) {
            uint64_t bits = pfd_random_bits(draw, k) % 31;
            const char *piece = pieces[bits < 13 ? bits : k % 2 ? 1 : 2 * (bits % 3)];
            for (; *piece; piece++) text[size++] = (uint8_t)*piece;
        }
        if (draw & 64) text[size++] = '}';
        if (i % 3 == 2) size -= pfd_random_bits(6, i) % size;
        uint8_t *copy = copy_of(text, size);
        pfd_json json = pfd_json_begin(copy, (int64_t)size);
        for (size_t k = 0; k < 3; k++) {
            check_trail(json, names[k], trails[0][k]);
            check_trail(narrow(json), names[k], trails[1][k]);
        }
        free(copy);
        if (i % 63 == 62) memset(trails, 0, sizeof trails);
    }
}

static void messages_are_read(void)
{
    static const uint8_t data[] = {0x86, 0xa1, 'i', 0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0,
                                   0xa1, 'u', 0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                   0xa1, 'f', 0xca, 0x3f, 0x80, 0, 0, 0xa1, 'd', 0xcb, 0xbf, 0xf8,
                                   0, 0, 0, 0, 0, 0, 0xa1, 'n', 0xff, 0xa1, 'x',
                                   0x92, 0xc4, 1, 7, 0xd4, 5, 9};
    pfd_msgpack cursor = {.data = data, .size = (int64_t)sizeof data};
    pfd_msgpack_value value, key;
    CHECK(pfd_msgpack_next(&cursor, &value) && value.kind == PFD_MSGPACK_MAP && value.size == 6);
    CHECK(pfd_msgpack_next(&cursor, &key) && key.kind == PFD_MSGPACK_STRING && key.size == 1);
    CHECK(pfd_msgpack_next(&cursor, &value) && value.integer == INT64_MIN);
    CHECK(pfd_msgpack_next(&cursor, &key) && pfd_msgpack_next(&cursor, &value));
    CHECK(value.kind == PFD_MSGPACK_UINT64 && (uint64_t)value.integer == UINT64_MAX);
    CHECK(pfd_msgpack_next(&cursor, &key) && pfd_msgpack_next(&cursor, &value));
    CHECK(value.kind == PFD_MSGPACK_FLOAT && value.number == 1.0);
    CHECK(pfd_msgpack_next(&cursor, &key) && pfd_msgpack_next(&cursor, &value));
    CHECK(value.number == -1.5);
    CHECK(pfd_msgpack_next(&cursor, &key) && pfd_msgpack_next(&cursor, &value));
    CHECK(value.kind == PFD_MSGPACK_INT && value.integer == -1);
    CHECK(pfd_msgpack_next(&cursor, &key) && pfd_msgpack_skip(&cursor));
    CHECK(cursor.at == cursor.size && !pfd_msgpack_next(&cursor, &value) && cursor.problem);
    cursor = (pfd_msgpack){.data = data, .size = (int64_t)sizeof data};
    CHECK(pfd_msgpack_skip(&cursor) && cursor.at == cursor.size);
    for (size_t size = 0; size < sizeof data; size++) {
        uint8_t *copy = copy_of(data, size);
        cursor = (pfd_msgpack){.data = copy, .size = (int64_t)size};
        CHECK(!pfd_msgpack_skip(&cursor) && cursor.problem);
        free(copy);
    }
}

static void any_bytes_are_no_danger_to_messages(void)
{
    for (uint64_t i = 0; i < 300000; i++) {
        uint64_t draw = pfd_random_bits(2, i);
        size_t size = draw % 24;
        uint8_t text[24];
        for (size_t k = 0; k < size; k++) text[k] = (uint8_t)pfd_random_bits(draw, k);
        uint8_t *copy = copy_of(text, size);
        pfd_msgpack cursor = {.data = copy, .size = (int64_t)size};
        int32_t ok = pfd_msgpack_skip(&cursor);
        CHECK(ok == !cursor.problem && cursor.at >= 0 && cursor.at <= cursor.size);
        pfd_msgpack_value value;
        cursor = (pfd_msgpack){.data = copy, .size = (int64_t)size};
        while (pfd_msgpack_next(&cursor, &value))
            if (value.data) CHECK(value.data >= copy && value.data + value.size <= copy + size);
        free(copy);
    }
}

int main(void)
{
    json_is_strict();
    strings_of_all_sizes();
    json_integers_are_exact();
    json_strings_are_decoded();
    any_bytes_are_no_danger_to_json();
    places_in_blocks_do_not_matter();
    trails_change_nothing();
    messages_are_read();
    any_bytes_are_no_danger_to_messages();
    return report();
}
