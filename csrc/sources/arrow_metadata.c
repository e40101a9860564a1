/* Reads the flatbuffers of Apache Arrow IPC. */
#include "sources/arrow_metadata.h"

#include "core/bytes.h"

#include <stdlib.h>
#include <string.h>

/* ---- Flatbuffers ----------------------------------------------------------------------------- */

/* A table: its place, and where its fields are.  Offsets of fields are in the vtable. */
typedef struct table {
    int64_t at, vtable;
    int64_t entries; /* in the vtable */
    int64_t size;    /* of the table */
} table;

static int64_t refuse(pfd_flatbuffer *fb, int64_t at, const char *problem)
{
    if (fb->problem) return 0;
    fb->problem = problem;
    fb->at = at;
    return 0;
}

static int32_t has(const pfd_flatbuffer *fb, int64_t at, int64_t size)
{
    return at >= 0 && size >= 0 && at <= fb->size && size <= fb->size - at;
}

/* Opens the table at a place; without fields after a problem. */
static table table_at(pfd_flatbuffer *fb, int64_t at)
{
    table out = {.at = at};
    if (fb->problem) return out;
    if (!has(fb, at, 4)) return refuse(fb, at, "a table lies outside the metadata"), out;
    out.vtable = at - (int32_t)pfd_load_le32(fb->data + at);
    if (!has(fb, out.vtable, 4)) return refuse(fb, at, "a vtable lies outside the metadata"), out;
    int64_t bytes = pfd_load_le16(fb->data + out.vtable);
    int64_t size = pfd_load_le16(fb->data + out.vtable + 2);
    if (bytes < 4 || bytes % 2 || !has(fb, out.vtable, bytes) || size < 4 || !has(fb, at, size))
        return refuse(fb, out.vtable, "a vtable states sizes that lie outside the metadata"), out;
    out.entries = bytes / 2 - 2;
    out.size = size;
    return out;
}

/* The place of field `id`, which has so many bytes; 0: it is left out. */
static int64_t field_at(pfd_flatbuffer *fb, const table *from, int64_t id, int64_t bytes)
{
    if (fb->problem || id >= from->entries) return 0;
    int64_t offset = pfd_load_le16(fb->data + from->vtable + 4 + 2 * id);
    if (offset == 0) return 0;
    if (offset < 4 || offset + bytes > from->size)
        return refuse(fb, from->at, "a field lies outside its table");
    return from->at + offset;
}

static int64_t int64_of(pfd_flatbuffer *fb, const table *from, int64_t id, int64_t otherwise)
{
    int64_t at = field_at(fb, from, id, 8);
    return at ? (int64_t)pfd_load_le64(fb->data + at) : otherwise;
}

static int32_t int32_of(pfd_flatbuffer *fb, const table *from, int64_t id, int32_t otherwise)
{
    int64_t at = field_at(fb, from, id, 4);
    return at ? (int32_t)pfd_load_le32(fb->data + at) : otherwise;
}

static int32_t int16_of(pfd_flatbuffer *fb, const table *from, int64_t id, int32_t otherwise)
{
    int64_t at = field_at(fb, from, id, 2);
    return at ? (int16_t)pfd_load_le16(fb->data + at) : otherwise;
}

static int32_t byte_of(pfd_flatbuffer *fb, const table *from, int64_t id, int32_t otherwise)
{
    int64_t at = field_at(fb, from, id, 1);
    return at ? fb->data[at] : otherwise;
}

/* The place to which the offset at `at` leads. */
static int64_t follow(pfd_flatbuffer *fb, int64_t at)
{
    int64_t to = at + (int64_t)pfd_load_le32(fb->data + at);
    if (!has(fb, to, 4)) return refuse(fb, at, "an offset leads outside the metadata");
    return to;
}

/* The place of a table or a vector that a field refers to; 0: it is left out. */
static int64_t child_of(pfd_flatbuffer *fb, const table *from, int64_t id)
{
    int64_t at = field_at(fb, from, id, 4);
    return at ? follow(fb, at) : 0;
}

/* The items of a vector, and their number; 0 where the vector is left out. */
static int64_t items_of(pfd_flatbuffer *fb, const table *from, int64_t id, int64_t item_bytes,
                        int64_t *n)
{
    *n = 0;
    int64_t at = child_of(fb, from, id);
    if (!at || fb->problem) return 0;
    int64_t items = pfd_load_le32(fb->data + at);
    if (!has(fb, at + 4, items * item_bytes))
        return refuse(fb, at, "a vector goes past the end of the metadata");
    *n = items;
    return at + 4;
}

static table root_of(pfd_flatbuffer *fb)
{
    if (!has(fb, 0, 4)) return refuse(fb, 0, "the metadata has no bytes"), (table){0};
    return table_at(fb, follow(fb, 0));
}

/* ---- Types ----------------------------------------------------------------------------------- */

/* The fields of tables, in the order of Schema.fbs. */
enum { FIELD_NAME, FIELD_NULLABLE, FIELD_TYPE_KIND, FIELD_TYPE, FIELD_DICTIONARY, FIELD_CHILDREN };
enum { DICTIONARY_ID, DICTIONARY_INDEX };
enum { SCHEMA_ENDIANNESS, SCHEMA_FIELDS };

static int32_t integer(int32_t bits, int32_t is_signed)
{
    switch (bits) {
    case 8: return is_signed ? PFD_INT8 : PFD_UINT8;
    case 16: return is_signed ? PFD_INT16 : PFD_UINT16;
    case 32: return is_signed ? PFD_INT32 : PFD_UINT32;
    case 64: return is_signed ? PFD_INT64 : PFD_UINT64;
    default: return 0;
    }
}

static int32_t read_integer(pfd_flatbuffer *fb, const table *type)
{
    int32_t dtype = integer(int32_of(fb, type, 0, 0), byte_of(fb, type, 1, 0));
    if (!dtype) refuse(fb, type->at, "an integer has neither 8, 16, 32 nor 64 bits");
    return dtype;
}

int32_t pfd_arrow_decimal_dtype(int64_t bytes, int32_t scale)
{
    enum { MOST_SCALE = 76 }; /* as many digits as any decimal has */
    int32_t is_known = bytes == 4 || bytes == 8 || bytes == 16 || bytes == 32;
    if (!is_known || scale < -MOST_SCALE || scale > MOST_SCALE) return 0;
    return scale == 0 ? PFD_INT64 : PFD_FLOAT64;
}

static int32_t read_float(pfd_flatbuffer *fb, const table *type)
{
    static const int32_t dtypes[] = {PFD_FLOAT16, PFD_FLOAT32, PFD_FLOAT64};
    int32_t precision = int16_of(fb, type, 0, 0);
    if (precision >= 0 && precision < 3) return dtypes[precision];
    return (int32_t)refuse(fb, type->at, "a float has an unknown precision");
}

static void read_type(pfd_flatbuffer *fb, const table *type, pfd_arrow_field *out)
{
    enum { DAY = 0, MILLISECOND = 1 };
    switch (out->type) {
    case PFD_ARROW_INT: out->dtype = read_integer(fb, type); break;
    case PFD_ARROW_FLOAT: out->dtype = read_float(fb, type); break;
    case PFD_ARROW_BOOL: out->dtype = PFD_BOOL; break;
    case PFD_ARROW_DATE:
        out->dtype = int16_of(fb, type, 0, MILLISECOND) == DAY ? PFD_INT32 : PFD_INT64;
        break;
    case PFD_ARROW_TIME:
        out->dtype = int32_of(fb, type, 1, 32) == 64 ? PFD_INT64 : PFD_INT32;
        break;
    case PFD_ARROW_TIMESTAMP:
    case PFD_ARROW_DURATION: out->dtype = PFD_INT64; break;
    case PFD_ARROW_DECIMAL:
        out->scale = int32_of(fb, type, 1, 0);
        out->size = int32_of(fb, type, 2, 128) / 8;
        out->dtype = pfd_arrow_decimal_dtype(out->size, out->scale);
        break;
    case PFD_ARROW_FIXED_BINARY:
    case PFD_ARROW_FIXED_LIST: out->size = int32_of(fb, type, 0, 0); break;
    default: break;
    }
    if (out->size < 0) refuse(fb, type->at, "a size of a type is negative");
}

/* The number of a field's buffers in a record batch, without extra buffers of views and its
 * children's. */
static int32_t buffers_of(pfd_flatbuffer *fb, const table *type, const pfd_arrow_field *field,
                          int32_t version)
{
    enum { V4 = 3, DENSE = 1 };
    if (field->has_dictionary) return 2;
    switch (field->type) {
    case PFD_ARROW_NULL:
    case PFD_ARROW_RUN_END: return 0;
    case PFD_ARROW_STRUCT:
    case PFD_ARROW_FIXED_LIST: return 1;
    case PFD_ARROW_UNION: return 1 + (int16_of(fb, type, 0, 0) == DENSE) + (version <= V4);
    case PFD_ARROW_BINARY:
    case PFD_ARROW_UTF8:
    case PFD_ARROW_LARGE_BINARY:
    case PFD_ARROW_LARGE_UTF8:
    case PFD_ARROW_LIST_VIEW:
    case PFD_ARROW_LARGE_LIST_VIEW: return 3;
    default: return 2;
    }
}

const char *pfd_arrow_type_name(const pfd_arrow_field *field)
{
    static const char *const names[] = {
        "of an unknown type", "null", "int", "float", "binary", "utf8", "bool", "decimal", "date",
        "time", "timestamp", "interval", "list", "struct", "union", "fixed_size_binary",
        "fixed_size_list", "map", "duration", "large_binary", "large_utf8", "large_list",
        "run_end_encoded", "binary_view", "utf8_view", "list_view", "large_list_view"};
    int32_t is_known = field->type > 0 && field->type < (int32_t)PFD_COUNT(names);
    return names[is_known ? field->type : 0];
}

/* ---- Schemas --------------------------------------------------------------------------------- */

typedef struct parser {
    pfd_flatbuffer *fb;
    pfd_arrow_schema *out;
    int32_t capacity, version;
} parser;

static int32_t grow(parser *p)
{
    if (p->out->num_fields < p->capacity) return 1;
    int32_t capacity = p->capacity ? 2 * p->capacity : 16;
    pfd_arrow_field *grown = realloc(p->out->fields, (size_t)capacity * sizeof *grown);
    if (!grown) return 0;
    p->out->fields = grown;
    p->capacity = capacity;
    return 1;
}

static void read_dictionary(pfd_flatbuffer *fb, const table *field, pfd_arrow_field *out)
{
    int64_t at = child_of(fb, field, FIELD_DICTIONARY);
    if (!at) return;
    table encoding = table_at(fb, at);
    out->has_dictionary = 1;
    out->dictionary = int64_of(fb, &encoding, DICTIONARY_ID, 0);
    out->index = PFD_INT32;
    int64_t index = child_of(fb, &encoding, DICTIONARY_INDEX);
    if (!index) return;
    table type = table_at(fb, index);
    out->index = read_integer(fb, &type);
}

/* Reads one field without its children. */
static pfd_arrow_field read_field(parser *p, const table *field, int32_t is_outside)
{
    pfd_flatbuffer *fb = p->fb;
    pfd_arrow_schema *schema = p->out;
    pfd_arrow_field out = {.is_outside = is_outside};
    int64_t name = items_of(fb, field, FIELD_NAME, 1, &out.name_size);
    out.name = (const char *)schema->metadata + name;
    out.type = byte_of(fb, field, FIELD_TYPE_KIND, 0);
    int64_t at = child_of(fb, field, FIELD_TYPE);
    table type = {0};
    if (at) type = table_at(fb, at);
    read_type(fb, &type, &out);
    read_dictionary(fb, field, &out);
    out.node = schema->num_nodes;
    out.buffer = schema->num_buffers;
    out.views = schema->num_views;
    if (is_outside) return out;
    schema->num_nodes++;
    schema->num_buffers += buffers_of(fb, &type, &out, p->version);
    schema->num_views += !out.has_dictionary && (out.type == PFD_ARROW_BINARY_VIEW ||
                                                 out.type == PFD_ARROW_UTF8_VIEW);
    return out;
}

static int32_t is_nested(const pfd_arrow_field *field, int64_t children)
{
    switch (field->type) {
    case PFD_ARROW_STRUCT:
    case PFD_ARROW_UNION: return 1;
    case PFD_ARROW_RUN_END: return children == 2;
    case PFD_ARROW_LIST:
    case PFD_ARROW_LARGE_LIST:
    case PFD_ARROW_FIXED_LIST:
    case PFD_ARROW_MAP:
    case PFD_ARROW_LIST_VIEW:
    case PFD_ARROW_LARGE_LIST_VIEW: return children == 1;
    default: return children == 0;
    }
}

/* Adds a field and its children; 0: out of memory. */
static int32_t add_field(parser *p, int64_t at, int32_t depth, int32_t is_outside)
{
    pfd_flatbuffer *fb = p->fb;
    int64_t n;
    if (depth > PFD_ARROW_MOST_DEPTH) refuse(fb, at, "the fields are nested deeper than 64");
    if (p->out->num_fields >= PFD_ARROW_MOST_FIELDS)
        refuse(fb, at, "the schema has more than 65536 fields");
    table field = table_at(fb, at);
    if (fb->problem) return 1;
    if (!grow(p)) return 0;
    int32_t number = p->out->num_fields++;
    pfd_arrow_field made = read_field(p, &field, is_outside);
    int64_t children = items_of(fb, &field, FIELD_CHILDREN, 4, &n);
    if (!fb->problem && !is_nested(&made, n))
        refuse(fb, at, "a field does not have the number of children that its type has");
    made.num_children = (int32_t)n;
    p->out->fields[number] = made;
    for (int64_t i = 0; i < n && !fb->problem; i++)
        if (!add_field(p, follow(fb, children + 4 * i), depth + 1,
                       is_outside || made.has_dictionary))
            return 0;
    p->out->fields[number].end = p->out->num_fields;
    return 1;
}

void pfd_arrow_schema_free(pfd_arrow_schema *schema)
{
    free(schema->fields);
    free(schema->metadata);
    *schema = (pfd_arrow_schema){0};
}

pfd_status pfd_arrow_schema_read(const pfd_host *host, pfd_flatbuffer *fb, int64_t header,
                                 int32_t version, pfd_arrow_schema *out, pfd_error *err)
{
    parser p = {fb, out, 0, version};
    int64_t n;
    *out = (pfd_arrow_schema){.metadata = malloc((size_t)fb->size + 1)};
    if (!out->metadata) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a schema");
    memcpy(out->metadata, fb->data, (size_t)fb->size);
    out->metadata_bytes = fb->size;
    table schema = table_at(fb, header);
    if (int16_of(fb, &schema, SCHEMA_ENDIANNESS, 0) != 0)
        return host->fail(err, PFD_UNSUPPORTED,
                          "the numbers are big-endian, which is not supported; read the file with "
                          "pyarrow on this machine, and write it again");
    int64_t fields = items_of(fb, &schema, SCHEMA_FIELDS, 4, &n);
    for (int64_t i = 0; i < n && !fb->problem; i++)
        if (!add_field(&p, follow(fb, fields + 4 * i), 0, 0))
            return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the fields of a schema");
    return fb->problem ? host->fail(err, PFD_CORRUPT_DATA, "%s", fb->problem) : PFD_OK;
}

/* ---- Messages -------------------------------------------------------------------------------- */

enum { MESSAGE_VERSION, MESSAGE_KIND, MESSAGE_HEADER, MESSAGE_BODY_BYTES };
enum { BATCH_ROWS, BATCH_NODES, BATCH_BUFFERS, BATCH_COMPRESSION, BATCH_VIEWS };
enum { DICTIONARY_NUMBER, DICTIONARY_VALUES, DICTIONARY_IS_DELTA };
enum { V4 = 3, V5 = 4 };

static void check_version(pfd_flatbuffer *fb, int64_t at, int32_t version)
{
    if (version < V4) refuse(fb, at, "the metadata is older than version V4, of Arrow 0.8");
    if (version > V5) refuse(fb, at, "the metadata is newer than version V5");
}

int32_t pfd_arrow_message_read(pfd_flatbuffer *fb, pfd_arrow_message *out)
{
    table message = root_of(fb);
    *out = (pfd_arrow_message){.version = int16_of(fb, &message, MESSAGE_VERSION, 0)};
    check_version(fb, message.at, out->version);
    out->kind = byte_of(fb, &message, MESSAGE_KIND, 0);
    out->header = child_of(fb, &message, MESSAGE_HEADER);
    out->body_bytes = int64_of(fb, &message, MESSAGE_BODY_BYTES, 0);
    if (out->body_bytes < 0) refuse(fb, message.at, "a body has a negative size");
    if (!out->header) refuse(fb, message.at, "a message has no header");
    return !fb->problem;
}

static int32_t codec_of(pfd_flatbuffer *fb, const table *batch)
{
    int64_t at = child_of(fb, batch, BATCH_COMPRESSION);
    if (!at) return PFD_ARROW_PLAIN;
    table compression = table_at(fb, at);
    int32_t codec = byte_of(fb, &compression, 0, PFD_ARROW_LZ4);
    if (codec > PFD_ARROW_ZSTD) refuse(fb, at, "a body is compressed by an unknown codec");
    if (byte_of(fb, &compression, 1, 0) != 0)
        refuse(fb, at, "a body is compressed in an unknown way");
    return codec;
}

int32_t pfd_arrow_batch_read(pfd_flatbuffer *fb, const pfd_arrow_message *message,
                             pfd_arrow_batch *out)
{
    enum { PAIR = 16 };
    *out = (pfd_arrow_batch){.codec = PFD_ARROW_PLAIN};
    table batch = table_at(fb, message->header);
    if (message->kind == PFD_ARROW_DICTIONARY) {
        out->dictionary = int64_of(fb, &batch, DICTIONARY_NUMBER, 0);
        out->is_delta = byte_of(fb, &batch, DICTIONARY_IS_DELTA, 0);
        int64_t values = child_of(fb, &batch, DICTIONARY_VALUES);
        if (!values) refuse(fb, batch.at, "a dictionary has no values");
        batch = table_at(fb, values);
    }
    out->rows = int64_of(fb, &batch, BATCH_ROWS, 0);
    out->nodes = fb->data + items_of(fb, &batch, BATCH_NODES, PAIR, &out->num_nodes);
    out->buffers = fb->data + items_of(fb, &batch, BATCH_BUFFERS, PAIR, &out->num_buffers);
    out->views = fb->data + items_of(fb, &batch, BATCH_VIEWS, 8, &out->num_views);
    out->codec = codec_of(fb, &batch);
    if (out->rows < 0) refuse(fb, batch.at, "a record batch has a negative number of rows");
    return !fb->problem;
}

/* ---- Files ----------------------------------------------------------------------------------- */

enum { FOOTER_VERSION, FOOTER_SCHEMA, FOOTER_DICTIONARIES, FOOTER_BATCHES };

static pfd_arrow_blocks blocks_of(pfd_flatbuffer *fb, const table *footer, int64_t id)
{
    int64_t n, at = items_of(fb, footer, id, PFD_ARROW_BLOCK_BYTES, &n);
    return (pfd_arrow_blocks){.data = fb->data + at, .size = n};
}

int32_t pfd_arrow_footer_read(pfd_flatbuffer *fb, pfd_arrow_footer *out)
{
    table footer = root_of(fb);
    *out = (pfd_arrow_footer){.version = int16_of(fb, &footer, FOOTER_VERSION, 0)};
    check_version(fb, footer.at, out->version);
    out->schema = child_of(fb, &footer, FOOTER_SCHEMA);
    if (!out->schema) refuse(fb, footer.at, "the footer has no schema");
    out->dictionaries = blocks_of(fb, &footer, FOOTER_DICTIONARIES);
    out->batches = blocks_of(fb, &footer, FOOTER_BATCHES);
    return !fb->problem;
}
