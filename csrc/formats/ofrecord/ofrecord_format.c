/* The format of OneFlow's OFRecord files: a length and a message for each record, and no magic. */
#include "core/bytes.h"
#include "formats/ofrecord/ofrecord_row.h"
#include "pyflowdata/op.h"

enum { length_bytes = 8 };

static const int64_t most_record_bytes = INT64_C(1) << 40;

/* Reads the next field of a message.  Returns its tag, or 0 if it is damaged; *content is set for
 * bytes. */
static uint32_t next_field(pfd_wire_cursor *c, pfd_wire_cursor *content)
{
    uint32_t tag = pfd_wire_tag(c);
    int32_t is_bytes = PFD_WIRE_TYPE(tag) == PFD_WIRE_BYTES;
    if (!tag || PFD_WIRE_TYPE(tag) == PFD_WIRE_GROUP) return 0;
    if (is_bytes ? !pfd_wire_bytes(c, content) : !pfd_wire_skip(c, tag)) return 0;
    return tag;
}

static int32_t is_list(pfd_wire_cursor c)
{
    pfd_wire_cursor content;
    while (c.at < c.end)
        if (!next_field(&c, &content)) return 0;
    return 1;
}

static int32_t is_feature(pfd_wire_cursor c)
{
    pfd_wire_cursor list;
    while (c.at < c.end) {
        uint32_t tag = next_field(&c, &list);
        if (!tag) return 0;
        int32_t is_known =
            PFD_WIRE_TYPE(tag) == PFD_WIRE_BYTES && PFD_WIRE_FIELD(tag) <= PFD_OF_INT64;
        if (is_known && !is_list(list)) return 0;
    }
    return 1;
}

/* Whether the bytes are an entry of the map: a name and a feature. */
static int32_t is_entry(pfd_wire_cursor c)
{
    pfd_wire_cursor content;
    while (c.at < c.end) {
        uint32_t tag = next_field(&c, &content);
        if (!tag) return 0;
        if (tag == PFD_WIRE_TAG(2, PFD_WIRE_BYTES) && !is_feature(content)) return 0;
    }
    return 1;
}

/* Whether the bytes are a record: at least one entry, and no other field. */
static int32_t is_record(pfd_wire_cursor c)
{
    pfd_wire_cursor entry;
    int32_t entries = 0;
    while (c.at < c.end) {
        uint32_t tag = next_field(&c, &entry);
        if (PFD_WIRE_FIELD(tag) != 1) return 0;
        if (PFD_WIRE_TYPE(tag) != PFD_WIRE_BYTES) continue;
        if (!is_entry(entry)) return 0;
        entries++;
    }
    return entries > 0;
}

/* Whether a record that is longer than the probed bytes begins: the tag of an entry, and shortly
 * after it the tag of the entry's feature. */
static int32_t begins_record(const uint8_t *data, int64_t size, int64_t length)
{
    int64_t most = size < 200 - length_bytes ? size : 200 - length_bytes;
    return data[0] == 0x0a && length < INT64_C(1) << 31 && most > 2 &&
           memchr(data + 2, 0x12, (size_t)(most - 2));
}

static int32_t probe(const pfd_probe_args *args)
{
    int64_t size = args->size - length_bytes;
    if (size < 1) return PFD_PROBE_NO;
    const uint8_t *data = args->data + length_bytes;
    int64_t length = (int64_t)pfd_load_le64(args->data);
    int64_t most = args->file_size < 0 ? most_record_bytes : args->file_size - length_bytes;
    if (length <= 0 || length > most) return PFD_PROBE_NO;
    int32_t fits = length > size ? begins_record(data, size, length)
                                 : is_record((pfd_wire_cursor){data, data + length});
    return fits ? PFD_PROBE_LIKELY : PFD_PROBE_NO;
}

const pfd_format pfd_format_ofrecord = {
    .struct_size = sizeof(pfd_format),
    .name = "ofrecord",
    .title = "OFRecord",
    .doc = "OneFlow's messages of named lists, each after its length.",
    .suffixes = ".ofrecord",
    .reader = "OFRecordReader",
    .decoders = "OFRecordRawDecoder|OFRecordBytesDecoder",
    .checks = "frames and messages",
    .probe = probe,
};
