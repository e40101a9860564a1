/* Reads a FlatBuffer and checks each step. */
#include "formats/onerec/flatbuffer.h"

#include "core/bytes.h"

#include <string.h>

enum { offset_bytes = 4, vtable_head_bytes = 4 };

static int32_t fail(pfd_flatbuffer *buffer, int64_t place)
{
    buffer->damage = place;
    return 0;
}

/* Whether the buffer has `bytes` bytes from a place on. */
static int32_t holds(const pfd_flatbuffer *buffer, int64_t place, int64_t bytes)
{
    return place >= 0 && bytes >= 0 && bytes <= buffer->size && place <= buffer->size - bytes;
}

static int64_t load16(const pfd_flatbuffer *buffer, int64_t place)
{
    return pfd_load_le16(buffer->data + place);
}

static uint32_t load32(const pfd_flatbuffer *buffer, int64_t place)
{
    return pfd_load_le32(buffer->data + place);
}

static int32_t read_table(pfd_flatbuffer *buffer, int64_t at, pfd_flat_table *out)
{
    if (!holds(buffer, at, offset_bytes)) return fail(buffer, at);
    out->at = at;
    out->vtable = at - (int32_t)load32(buffer, at);
    if (!holds(buffer, out->vtable, vtable_head_bytes)) return fail(buffer, at);
    out->vtable_bytes = load16(buffer, out->vtable);
    out->bytes = load16(buffer, out->vtable + 2);
    if (out->vtable_bytes < vtable_head_bytes || out->vtable_bytes % 2 ||
        !holds(buffer, out->vtable, out->vtable_bytes))
        return fail(buffer, out->vtable);
    if (out->bytes < offset_bytes || !holds(buffer, at, out->bytes))
        return fail(buffer, out->vtable + 2);
    return 1;
}

int32_t pfd_flat_root(pfd_flatbuffer *buffer, const char *identifier, pfd_flat_table *out)
{
    buffer->damage = -1;
    if (!holds(buffer, 0, 2 * offset_bytes)) return fail(buffer, 0);
    if (memcmp(buffer->data + offset_bytes, identifier, 4) != 0) return fail(buffer, offset_bytes);
    return pfd_flat_table_at(buffer, 0, out);
}

int32_t pfd_flat_field(pfd_flatbuffer *buffer, const pfd_flat_table *table, int32_t id,
                       int64_t bytes, int64_t *place)
{
    int64_t entry = vtable_head_bytes + 2 * (int64_t)id;
    *place = 0;
    if (entry >= table->vtable_bytes) return 1; /* the writer did not know the field */
    int64_t offset = load16(buffer, table->vtable + entry);
    if (offset == 0) return 1;
    if (offset < offset_bytes || offset + bytes > table->bytes)
        return fail(buffer, table->vtable + entry);
    *place = table->at + offset;
    return 1;
}

int32_t pfd_flat_table_at(pfd_flatbuffer *buffer, int64_t place, pfd_flat_table *out)
{
    if (!holds(buffer, place, offset_bytes)) return fail(buffer, place);
    int64_t at = place + (int64_t)load32(buffer, place);
    return holds(buffer, at, offset_bytes) ? read_table(buffer, at, out) : fail(buffer, place);
}

int32_t pfd_flat_vector_at(pfd_flatbuffer *buffer, int64_t place, int64_t item_bytes,
                           pfd_flat_vector *out)
{
    if (!holds(buffer, place, offset_bytes)) return fail(buffer, place);
    int64_t at = place + (int64_t)load32(buffer, place);
    if (!holds(buffer, at, offset_bytes)) return fail(buffer, place);
    out->count = (int64_t)load32(buffer, at);
    out->at = at + offset_bytes;
    return holds(buffer, out->at, out->count * item_bytes) ? 1 : fail(buffer, at);
}

int32_t pfd_flat_vector_field(pfd_flatbuffer *buffer, const pfd_flat_table *table, int32_t id,
                              int64_t item_bytes, pfd_flat_vector *out)
{
    int64_t place;
    *out = (pfd_flat_vector){0};
    if (!pfd_flat_field(buffer, table, id, offset_bytes, &place)) return 0;
    return place == 0 || pfd_flat_vector_at(buffer, place, item_bytes, out);
}
