/* Finds a feature of an OFRecord by its name, reads its list, and reports errors about a row. */
#include "formats/ofrecord/ofrecord_row.h"

#include "core/rows.h"
#include "parse/row_type.h"
#include "parse/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- Features -------------------------------------------------------------------------------- */

/* The fields OFRecord.feature, key and value of an entry, and value of a list. */
static const uint32_t entry_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);
static const uint32_t key_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);
static const uint32_t value_tag = PFD_WIRE_TAG(2, PFD_WIRE_BYTES);
static const uint32_t bytes_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES); /* also of packed numbers */

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

/* Reads the value of the entry with the wanted key; read_key() has checked the bytes.  Returns 1,
 * or -1: the value is damaged at *place. */
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

/* Finds the feature with a name.  Returns 1: found; 0: the record does not have it; -1: the
 * record is damaged at *place. */
static int32_t of_find(pfd_wire_cursor c, const char *name, int64_t name_size, pfd_of_feature *out,
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
        int32_t is_complete = read_key(&rest, &key);
        *place = rest.at;
        if (!is_complete) return -1;
        if (key.end - key.at != name_size || memcmp(key.at, name, (size_t)name_size) != 0) continue;
        found = read_entry(entry, out, place);
        if (found < 0) return -1;
    }
    return found;
}

/* Writes the names of a record's features for a message, "'x', 'y', ..."; `capacity` >= 64. */
static void of_list_names(pfd_wire_cursor c, char *out, int64_t capacity)
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

/* Reads a list of bytes; *value is its last value.  Returns the number of values; -1: the list is
 * damaged at *place. */
static int64_t of_bytes(const pfd_of_feature *feature, pfd_wire_cursor *value,
                        const uint8_t **place)
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

/* ---- Rows ------------------------------------------------------------------------------------ */

const pfd_port pfd_of_inputs[1] = {
    {"in", "Messages as OFRecordReader gives them, uint8 of shape (batch, None)."},
};

pfd_status pfd_of_check_input(const pfd_infer_args *args, const char *name, pfd_error *err)
{
    if (!name[0])
        return args->host->fail_attr(err, "blob_name", NULL, PFD_INVALID_ARGUMENT,
                                     " is empty; it must be the name of a feature");
    return pfd_expect_bytes(args, err);
}

static pfd_wire_cursor message(const pfd_of_row *self)
{
    pfd_bytes row = pfd_row_bytes(self->args->inputs[0], self->row);
    return (pfd_wire_cursor){row.data, row.data + (row.data ? row.size : 0)};
}

pfd_status pfd_of_row_fail(const pfd_of_row *self, const uint8_t *place, pfd_error *err,
                           const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return self->args->host->fail_row(err, self->row,
                                      pfd_place_in_record(self->args, self->row, place),
                                      PFD_CORRUPT_DATA, "feature '%.100s': %s", self->name, text);
}

pfd_status pfd_of_row_fail_damaged(const pfd_of_row *self, const uint8_t *place, pfd_error *err)
{
    return pfd_of_row_fail(self, place, err,
                           "the message is damaged at its byte %" PRId64
                           ": it is not an OFRecord, or its bytes were changed",
                           (int64_t)(place - message(self).at));
}

pfd_status pfd_of_row_find(const pfd_of_row *self, pfd_of_feature *out, pfd_error *err)
{
    const uint8_t *place;
    pfd_wire_cursor record = message(self);
    int32_t found = of_find(record, self->name, self->name_size, out, &place);
    if (found > 0) return PFD_OK;
    if (found < 0) return pfd_of_row_fail_damaged(self, place, err);
    char names[500];
    of_list_names(record, names, sizeof names);
    return pfd_of_row_fail(self, NULL, err, "the record does not have it; it has %s",
                           names[0] ? names : "no features");
}

pfd_status pfd_of_row_bytes(const pfd_of_row *self, const pfd_of_feature *feature,
                            pfd_wire_cursor *value, pfd_error *err)
{
    const uint8_t *place = NULL;
    int64_t count = of_bytes(feature, value, &place);
    if (count == 1) return PFD_OK;
    if (count < 0) return pfd_of_row_fail_damaged(self, place, err);
    return pfd_of_row_fail(self, NULL, err,
                           "its bytes_list has %" PRId64 " values; it must have one", count);
}

pfd_status pfd_of_row_find_bytes(const pfd_of_row *self, pfd_wire_cursor *value, pfd_error *err)
{
    static const char *const kind_names[] = {"no list",     "bytes_list", "float_list",
                                             "double_list", "int32_list", "int64_list"};
    pfd_of_feature feature;
    PFD_TRY(pfd_of_row_find(self, &feature, err));
    if (feature.kind == PFD_OF_BYTES) return pfd_of_row_bytes(self, &feature, value, err);
    return pfd_of_row_fail(self, NULL, err,
                           "it is %s; this decoder takes bytes_list, OFRecordRawDecoder takes "
                           "the others",
                           kind_names[feature.kind]);
}
