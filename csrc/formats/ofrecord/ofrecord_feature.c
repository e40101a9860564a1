/* Finds one feature of an OFRecord by its name, and reads its list. */
#include "formats/ofrecord/ofrecord_feature.h"

#include "parse/words.h"

#include <stdio.h>

/* Fields of the messages: OFRecord.feature, the key and value of an entry, value of each list. */
static const uint32_t entry_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);
static const uint32_t key_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);
static const uint32_t value_tag = PFD_WIRE_TAG(2, PFD_WIRE_BYTES);
static const uint32_t bytes_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES); /* also of packed numbers */

const char *pfd_of_kind_name(int32_t kind)
{
    static const char *const names[] = {"no list",     "bytes_list", "float_list",
                                        "double_list", "int32_list", "int64_list"};
    return names[kind];
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* Reads the last key of an entry, empty if it has none.  Returns 0 if it is damaged at c->at. */
static int32_t read_key(pfd_wire_cursor *c, pfd_wire_cursor *key)
{
    *key = (pfd_wire_cursor){c->at, c->at};
    while (c->at < c->end) {
        uint32_t tag = pfd_wire_tag(c);
        if (tag == key_tag ? !pfd_wire_bytes(c, key) : !tag || !pfd_wire_skip(c, tag)) return 0;
    }
    return 1;
}

static int32_t add_piece(pfd_of_feature *out, int32_t kind, pfd_wire_cursor piece)
{
    if (out->kind != kind) out->num_pieces = 0;
    out->kind = kind;
    if (out->num_pieces == PFD_OF_MOST_PIECES) return 0;
    out->pieces[out->num_pieces++] = piece;
    return 1;
}

/* Reads a message Feature.  If it has several lists, the kind of the last one counts. */
static int32_t read_feature(pfd_wire_cursor *c, pfd_of_feature *out)
{
    while (c->at < c->end) {
        const uint8_t *begin = c->at;
        uint32_t tag = pfd_wire_tag(c), field = PFD_WIRE_FIELD(tag);
        pfd_wire_cursor piece;
        if (!tag) return 0;
        if (PFD_WIRE_TYPE(tag) != PFD_WIRE_BYTES || field > PFD_OF_INT64) {
            if (!pfd_wire_skip(c, tag)) return 0;
            continue;
        }
        if (!pfd_wire_bytes(c, &piece)) return 0;
        if (!add_piece(out, (int32_t)field, piece)) {
            c->at = begin;
            return 0;
        }
    }
    return 1;
}

/* Reads the entry with the wanted key. Its bytes were checked before. */
static int32_t read_entry(pfd_wire_cursor c, pfd_of_feature *out, const uint8_t **place)
{
    *out = (pfd_of_feature){0};
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        pfd_wire_cursor value;
        if (tag != value_tag) {
            (void)pfd_wire_skip(&c, tag);
            continue;
        }
        (void)pfd_wire_bytes(&c, &value);
        *place = value.at;
        if (read_feature(&value, out)) continue;
        *place = value.at;
        return -1;
    }
    return 1;
}

int32_t pfd_of_find(pfd_wire_cursor c, const char *name, int64_t name_size, pfd_of_feature *out,
                    const uint8_t **place)
{
    int32_t found = 0;
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        pfd_wire_cursor entry, rest, key;
        if (tag != entry_tag) {
            if (tag && pfd_wire_skip(&c, tag)) continue;
            *place = c.at;
            return -1;
        }
        *place = c.at;
        if (!pfd_wire_bytes(&c, &entry)) return -1;
        rest = entry;
        int32_t is_whole = read_key(&rest, &key);
        *place = rest.at;
        if (!is_whole) return -1;
        if (key.end - key.at != name_size || memcmp(key.at, name, (size_t)name_size) != 0) continue;
        found = read_entry(entry, out, place);
        if (found < 0) return -1;
    }
    return found;
}

void pfd_of_list_names(pfd_wire_cursor c, char *out, int64_t capacity)
{
    int64_t used = 0;
    out[0] = 0;
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        pfd_wire_cursor entry, key;
        if (tag != entry_tag) {
            if (!tag || !pfd_wire_skip(&c, tag)) return;
            continue;
        }
        if (!pfd_wire_bytes(&c, &entry) || !read_key(&entry, &key)) return;
        char name[256];
        (void)pfd_quote_bytes(key.at, key.end - key.at, name, sizeof name);
        int32_t fits = used + (int64_t)strlen(name) + 16 <= capacity;
        used += snprintf(out + used, (size_t)(capacity - used), "%s%s", used ? ", " : "",
                         fits ? name : "...");
        if (!fits) return;
    }
}

/* ---- Lists ----------------------------------------------------------------------------------- */
typedef struct number_sink {
    uint8_t *out;
    int64_t most, count;
} number_sink;

static void add_number(number_sink *sink, const void *number, size_t size)
{
    if (sink->count < sink->most) memcpy(sink->out + sink->count * (int64_t)size, number, size);
    sink->count++;
}

/* Adds numbers of fixed size; only big-endian machines such as s390x swap their bytes. */
static void add_fixed(number_sink *sink, const uint8_t *from, int64_t n, int64_t size)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    int64_t room = sink->most - sink->count, some = n < room ? n : room;
    if (some > 0) memcpy(sink->out + sink->count * size, from, (size_t)(some * size));
    sink->count += n;
#else
    for (int64_t i = 0; i < n; i++) {
        uint8_t number[8];
        for (int64_t k = 0; k < size; k++) number[size - 1 - k] = from[i * size + k];
        add_number(sink, number, (size_t)size);
    }
#endif
}

static int32_t add_varint(number_sink *sink, pfd_wire_cursor *c, int32_t kind)
{
    uint64_t bits;
    if (!pfd_wire_varint(c, &bits)) return 0;
    int64_t number = kind == PFD_OF_INT32 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits;
    add_number(sink, &number, sizeof number);
    return 1;
}

/* The bytes of a number; 0: the numbers are varints. */
static int64_t fixed_size(int32_t kind)
{
    return kind == PFD_OF_FLOAT ? 4 : kind == PFD_OF_DOUBLE ? 8 : 0;
}

static int32_t add_packed(number_sink *sink, pfd_wire_cursor *c, int32_t kind)
{
    int64_t size = fixed_size(kind), bytes = c->end - c->at;
    if (!size) {
        while (c->at < c->end)
            if (!add_varint(sink, c, kind)) return 0;
        return 1;
    }
    if (bytes % size) return 0;
    add_fixed(sink, c->at, bytes / size, size);
    return 1;
}

static int32_t add_single(number_sink *sink, pfd_wire_cursor *c, int32_t kind)
{
    int64_t size = fixed_size(kind);
    if (!size) return add_varint(sink, c, kind);
    if (c->end - c->at < size) return 0;
    add_fixed(sink, c->at, 1, size);
    c->at += size;
    return 1;
}

/* Reads a message FloatList, DoubleList, Int32List or Int64List.  Returns 0 if it is damaged at
 * c->at. */
static int32_t read_numbers(number_sink *sink, pfd_wire_cursor *c, int32_t kind)
{
    static const uint32_t single_types[] = {0, 0, PFD_WIRE_FIXED32, PFD_WIRE_FIXED64,
                                            PFD_WIRE_VARINT, PFD_WIRE_VARINT};
    uint32_t single = PFD_WIRE_TAG(1, single_types[kind]);
    while (c->at < c->end) {
        uint32_t tag = pfd_wire_tag(c);
        pfd_wire_cursor packed;
        if (tag == bytes_tag) {
            if (!pfd_wire_bytes(c, &packed)) return 0;
            if (add_packed(sink, &packed, kind)) continue;
            c->at = packed.at;
            return 0;
        }
        if (tag == single ? !add_single(sink, c, kind) : !tag || !pfd_wire_skip(c, tag)) return 0;
    }
    return 1;
}

int64_t pfd_of_numbers(const pfd_of_feature *feature, void *out, int64_t most,
                       const uint8_t **place)
{
    number_sink sink = {out, most, 0};
    for (int32_t i = 0; i < feature->num_pieces; i++) {
        pfd_wire_cursor c = feature->pieces[i];
        if (read_numbers(&sink, &c, feature->kind)) continue;
        *place = c.at;
        return -1;
    }
    return sink.count;
}

int64_t pfd_of_bytes(const pfd_of_feature *feature, pfd_wire_cursor *value, const uint8_t **place)
{
    int64_t count = 0;
    for (int32_t i = 0; i < feature->num_pieces; i++) {
        pfd_wire_cursor c = feature->pieces[i];
        while (c.at < c.end) {
            uint32_t tag = pfd_wire_tag(&c);
            int32_t is_value = tag == bytes_tag;
            if (is_value ? !pfd_wire_bytes(&c, value) : !tag || !pfd_wire_skip(&c, tag)) {
                *place = c.at;
                return -1;
            }
            count += is_value;
        }
    }
    return count;
}
