/* Rows of Arrow record batches: the buffers of a batch, and rows read from them and written. */
#include "sources/arrow_rows.h"

#include "core/bytes.h"
#include "core/convert.h"
#include "core/rows.h"
#include "parse/number_text.h"
#include "parse/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Buffers of a batch ---------------------------------------------------------------------- */

/* Whether a field is on the path to the values of a column of JSON, or inside them. */
static int32_t is_in_json(const pfd_arrow_column *column, int32_t i)
{
    const pfd_arrow_field *fields = column->json;
    return i <= column->field ? column->field < fields[i].end : i < fields[column->field].end;
}

static int32_t is_list(const pfd_arrow_field *field)
{
    return pfd_arrow_is_list(field->type) || field->type == PFD_ARROW_MAP;
}

static int64_t nulls_of(const pfd_arrow_batch *batch, int32_t node)
{
    if (node >= batch->num_nodes) return 0;
    return (int64_t)pfd_load_le64(batch->nodes + 16 * (int64_t)node + 8);
}

int32_t pfd_arrow_column_nulls(const pfd_arrow_column *column, const pfd_arrow_batch *batch)
{
    int32_t found = 0, inside = 1;
    if (column->json) return 0; /* it has a text for them */
    for (int32_t k = 0; k < column->num_levels; k++) {
        const pfd_arrow_level *level = &column->levels[k];
        if (nulls_of(batch, level->node) != 0) found |= inside;
        if (level->kind != PFD_ARROW_MEMBERS) inside = 2;
    }
    const pfd_arrow_level *last = column->has_dictionary ? &column->keys : &column->values;
    if (column->has_validity && nulls_of(batch, last->node) != 0) found |= inside;
    return found;
}

static int64_t extra_buffers(const pfd_arrow_batch *batch, int64_t i)
{
    return (int64_t)pfd_load_le64(batch->views + 8 * i);
}

const char *pfd_arrow_batch_fault(const pfd_arrow_schema *schema, const pfd_arrow_batch *batch)
{
    int64_t buffers = schema->num_buffers;
    if (batch->num_nodes != schema->num_nodes)
        return "a record batch does not have as many nodes as the schema has fields";
    if (batch->num_views < schema->num_views)
        return "a record batch does not state how many buffers its views have";
    for (int32_t i = 0; i < schema->num_views; i++) {
        int64_t extra = extra_buffers(batch, i);
        if (extra < 0 || extra > batch->num_buffers)
            return "a record batch states a number of buffers for views that it does not have";
        buffers += extra;
    }
    if (buffers != batch->num_buffers)
        return "a record batch does not have as many buffers as the fields of the schema need";
    return NULL;
}

/* The number of a buffer in a batch: its number in the schema, and the extra buffers of views
 * before it. */
static int64_t buffer_number(const pfd_arrow_batch *batch, const pfd_arrow_level *level, int32_t k)
{
    int64_t number = level->buffer + k;
    for (int32_t i = 0; i < level->views; i++) number += extra_buffers(batch, i);
    return number;
}

/* The state while words are made. */
typedef struct wording {
    const pfd_host *host;
    pfd_arrow_body *body;
    pfd_arrow_extras *extras;
    pfd_error *err;
} wording;

static pfd_status corrupt(const wording *w, const char *problem)
{
    w->body->problem = problem;
    return w->host->fail(w->err, PFD_CORRUPT_DATA, "%s", problem);
}

/* Finds a buffer, which has `needed` bytes at least. */
static pfd_status find_buffer(const wording *w, int64_t number, int64_t needed,
                              pfd_arrow_extent *out)
{
    const pfd_arrow_body *body = w->body;
    if (number >= body->batch->num_buffers)
        return corrupt(w, "a record batch has fewer buffers than its columns need");
    if (body->decoded) {
        *out = body->decoded[number];
    } else {
        const uint8_t *pair = body->batch->buffers + 16 * number;
        out->offset = (int64_t)pfd_load_le64(pair);
        out->size = (int64_t)pfd_load_le64(pair + 8);
        if (out->offset < 0 || out->size < 0 || out->offset > body->size ||
            out->size > body->size - out->offset)
            return corrupt(w, "a buffer lies outside the body of its record batch");
        out->offset += body->base;
    }
    if (out->size < needed)
        return corrupt(w, "a buffer is shorter than the rows of its record batch need");
    return PFD_OK;
}

/* The number of items that a node states. */
static pfd_status find_items(const wording *w, int32_t node, int64_t least, int64_t *items)
{
    const pfd_arrow_batch *batch = w->body->batch;
    if (node >= batch->num_nodes)
        return corrupt(w, "a record batch has fewer nodes than its columns need");
    *items = (int64_t)pfd_load_le64(batch->nodes + 16 * (int64_t)node);
    if (*items < least)
        return corrupt(w, "a node of a record batch has fewer items than the rows need");
    if (*items > INT64_MAX / 64) return corrupt(w, "a node of a record batch has too many items");
    return PFD_OK;
}

/* The word of a bitmap of validity: 0 where nothing is null. */
static pfd_status find_validity(const wording *w, const pfd_arrow_level *level, int64_t items,
                                int64_t *word)
{
    pfd_arrow_extent found;
    *word = 0;
    if (nulls_of(w->body->batch, level->node) == 0) return PFD_OK;
    PFD_TRY(find_buffer(w, buffer_number(w->body->batch, level, 0), (items + 7) / 8, &found));
    if (items > 0) *word = found.offset;
    return PFD_OK;
}

/* The words of offsets, one more than items: all but what they lead to. */
static pfd_status find_offsets(const wording *w, const pfd_arrow_level *level, int64_t items,
                               int64_t bytes, int64_t *words)
{
    pfd_arrow_extent found;
    int64_t needed = items ? (items + 1) * bytes : 0;
    PFD_TRY(find_buffer(w, buffer_number(w->body->batch, level, 1), needed, &found));
    words[PFD_WORD_BUFFER] = found.offset;
    words[PFD_WORD_COUNT] = items;
    return PFD_OK;
}

static pfd_status add_extras(const wording *w, const pfd_arrow_level *level, int64_t *words)
{
    pfd_arrow_extras *all = w->extras;
    const pfd_arrow_batch *batch = w->body->batch;
    if (level->views >= batch->num_views)
        return corrupt(w, "a record batch does not state how many buffers its views have");
    int64_t n = extra_buffers(batch, level->views), first = buffer_number(batch, level, 2);
    words[PFD_WORD_EXTRAS] = all->size;
    words[PFD_WORD_COUNT] = n;
    if (n < 0 || n > batch->num_buffers)
        return corrupt(w, "a record batch states more buffers for views than it has");
    if (all->size + n > all->capacity) {
        int64_t capacity = 2 * all->capacity > all->size + n ? 2 * all->capacity : all->size + n;
        pfd_arrow_extent *grown = realloc(all->list, (size_t)capacity * sizeof *grown);
        if (!grown) return w->host->fail(w->err, PFD_OUT_OF_MEMORY, "no memory for buffers");
        all->list = grown;
        all->capacity = capacity;
    }
    for (int64_t i = 0; i < n; i++)
        PFD_TRY(find_buffer(w, first + i, 0, &all->list[all->size + i]));
    all->size += n;
    return PFD_OK;
}

/* The words of values or keys, at `words`. */
static pfd_status values_words(const wording *w, const pfd_arrow_level *level, int64_t items,
                               int32_t has_validity, int64_t *words)
{
    enum { VIEW_BYTES = 16 };
    const pfd_arrow_batch *batch = w->body->batch;
    pfd_arrow_extent found;
    words[PFD_WORD_VALIDITY] = 0;
    if (has_validity) PFD_TRY(find_validity(w, level, items, &words[PFD_WORD_VALIDITY]));
    int64_t needed = level->kind == PFD_ARROW_BITS    ? (items + 7) / 8
                     : level->kind == PFD_ARROW_VIEWS ? items * VIEW_BYTES
                                                      : items * pfd_arrow_stored_bytes(level);
    if (level->kind == PFD_ARROW_BYTES || level->kind == PFD_ARROW_LARGE_BYTES) {
        int64_t bytes = level->kind == PFD_ARROW_BYTES ? 4 : 8;
        PFD_TRY(find_offsets(w, level, items, bytes, words));
        PFD_TRY(find_buffer(w, buffer_number(batch, level, 2), 0, &found));
        words[PFD_WORD_SIZE] = found.size;
        words[PFD_WORD_DATA] = found.offset;
        return PFD_OK;
    }
    PFD_TRY(find_buffer(w, buffer_number(batch, level, 1), needed, &found));
    words[PFD_WORD_BUFFER] = found.offset;
    return level->kind == PFD_ARROW_VIEWS ? add_extras(w, level, words) : PFD_OK;
}

pfd_status pfd_arrow_values_words(const pfd_host *host, const pfd_arrow_level *values,
                                  pfd_arrow_body *body, int64_t *words, pfd_arrow_extras *extras,
                                  pfd_error *err)
{
    wording w = {host, body, extras, err};
    int64_t items;
    PFD_TRY(find_items(&w, values->node, body->batch->rows, &items));
    return values_words(&w, values, body->batch->rows, 1, words);
}

/* The words of a field of a column of JSON, which has `items`, and of those inside. */
static pfd_status json_words(const wording *w, const pfd_arrow_column *column, int32_t i,
                             int64_t items, int64_t *words)
{
    const pfd_arrow_field *field = &column->json[i];
    pfd_arrow_level level = pfd_arrow_json_level(column, i);
    int64_t *to = words + level.word, found;
    PFD_TRY(find_items(w, level.node, items, &found));
    if (field->type == PFD_ARROW_NULL) return PFD_OK;
    if (field->num_children == 0) return values_words(w, &level, items, 1, to);
    PFD_TRY(find_validity(w, &level, items, &to[PFD_WORD_VALIDITY]));
    if (field->type == PFD_ARROW_FIXED_LIST &&
        (__builtin_mul_overflow(items, field->size, &items) || items > INT64_MAX / 64))
        return corrupt(w, "lists of a fixed size have too many items");
    if (is_list(field)) {
        PFD_TRY(find_offsets(w, &level, items, field->type == PFD_ARROW_LARGE_LIST ? 8 : 4, to));
        PFD_TRY(find_items(w, field[1].node, 0, &items));
        to[PFD_WORD_SIZE] = items;
    }
    for (int32_t k = i + 1; k < field->end; k = column->json[k].end)
        if (is_in_json(column, k)) PFD_TRY(json_words(w, column, k, items, words));
    return PFD_OK;
}

pfd_status pfd_arrow_column_words(const pfd_host *host, const pfd_arrow_column *column,
                                  pfd_arrow_body *body, int64_t dictionary, int64_t *words,
                                  pfd_arrow_extras *extras, pfd_error *err)
{
    wording w = {host, body, extras, err};
    const pfd_arrow_level *last = column->has_dictionary ? &column->keys : &column->values;
    int64_t items = body->batch->rows, found;
    if (items > INT64_MAX / 64) return corrupt(&w, "a record batch has too many rows");
    if (column->json) return json_words(&w, column, column->root, items, words);
    for (int32_t k = 0; k <= column->num_levels; k++) {
        const pfd_arrow_level *level = k < column->num_levels ? &column->levels[k] : last;
        int32_t is_fixed_binary = k == column->num_levels && !column->has_validity;
        if (!is_fixed_binary) PFD_TRY(find_items(&w, level->node, items, &found));
        if (level == last) break;
        int64_t *to = words + level->word;
        PFD_TRY(find_validity(&w, level, items, &to[PFD_WORD_VALIDITY]));
        if (level->kind == PFD_ARROW_FIXED &&
            (__builtin_mul_overflow(items, level->size, &items) || items > INT64_MAX / 64))
            return corrupt(&w, "lists of a fixed size have too many items");
        if (level->kind != PFD_ARROW_LISTS && level->kind != PFD_ARROW_LARGE_LISTS) continue;
        PFD_TRY(find_offsets(&w, level, items, level->kind == PFD_ARROW_LISTS ? 4 : 8, to));
        /* All items of the list's child may be reached: its buffers must have them. */
        const pfd_arrow_level *child = k + 1 < column->num_levels ? level + 1 : last;
        PFD_TRY(find_items(&w, child->node, 0, &items));
        to[PFD_WORD_SIZE] = items;
    }
    PFD_TRY(values_words(&w, last, items, column->has_validity, words + last->word));
    if (column->has_dictionary) words[last->word + PFD_WORD_DICTIONARY] = dictionary;
    return PFD_OK;
}

void pfd_arrow_values_buffers(const pfd_arrow_level *values, const pfd_arrow_batch *batch,
                              void (*need)(void *ctx, int64_t buffer), void *ctx)
{
    int64_t first = buffer_number(batch, values, 0), n = 2;
    if (values->kind == PFD_ARROW_BYTES || values->kind == PFD_ARROW_LARGE_BYTES) n = 3;
    if (values->kind == PFD_ARROW_VIEWS && values->views < batch->num_views) {
        int64_t extra = extra_buffers(batch, values->views);
        if (extra > 0 && extra <= batch->num_buffers) n += extra; /* else add_extras() fails */
    }
    for (int64_t i = 0; i < n; i++) need(ctx, first + i);
}

void pfd_arrow_column_buffers(const pfd_arrow_column *column, const pfd_arrow_batch *batch,
                              void (*need)(void *ctx, int64_t buffer), void *ctx)
{
    const pfd_arrow_field *fields = column->json;
    for (int32_t i = column->root; fields && i < fields[column->root].end; i++) {
        pfd_arrow_level level = pfd_arrow_json_level(column, i);
        if (!is_in_json(column, i) || fields[i].type == PFD_ARROW_NULL) continue;
        if (fields[i].num_children == 0) pfd_arrow_values_buffers(&level, batch, need, ctx);
        else need(ctx, buffer_number(batch, &level, 0));
        if (is_list(&fields[i])) need(ctx, buffer_number(batch, &level, 1));
    }
    if (fields) return;
    for (int32_t k = 0; k < column->num_levels; k++) {
        const pfd_arrow_level *level = &column->levels[k];
        need(ctx, buffer_number(batch, level, 0));
        if (level->kind == PFD_ARROW_LISTS || level->kind == PFD_ARROW_LARGE_LISTS)
            need(ctx, buffer_number(batch, level, 1));
    }
    pfd_arrow_values_buffers(column->has_dictionary ? &column->keys : &column->values, batch, need,
                             ctx);
}

/* ---- Rows: reading --------------------------------------------------------------------------- */

/* A value that is being written, or an item of the value. */
typedef struct writer {
    const pfd_arrow_column *column;
    const pfd_arrow_output *output;
    const pfd_arrow_row *row;
    pfd_tensor *out;
    pfd_error *err;
} writer;

/* The items of a row's innermost lists. */
typedef struct run {
    int64_t begin, end;
    int64_t shape[PFD_MAX_DIMS];
    int32_t ndim;
} run;

/* Fails for a row; `at` is a place in the space, -1: the row's place. Errors count bytes in the
 * record, so the message has a place elsewhere. */
__attribute__((format(printf, 4, 5))) static pfd_status
fail_row(const writer *w, const pfd_arrow_space *space, int64_t at, const char *format, ...)
{
    char found[400], place[64] = "";
    const pfd_arrow_row *row = w->row;
    const pfd_record *record = &row->args->records[row->row];
    int32_t is_known = at >= 0 && !space->is_decoded;
    int64_t byte = is_known ? at - record->offset : -1;
    if (byte < 0 || byte > record->size) byte = -1;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(found, sizeof found, format, args);
    va_end(args);
    if (is_known && byte < 0)
        (void)snprintf(place, sizeof place, " (byte %" PRId64 " of the file)", at);
    return row->args->host->fail_row(w->err, row->row, byte, PFD_CORRUPT_DATA,
                                     "column '%.200s' %s%s", w->output->element, found, place);
}

/* The bytes at a place, which the words have checked. */
static inline pfd_status bytes_at(const writer *w, const pfd_arrow_space *space, int64_t offset,
                                  int64_t size, const uint8_t **out)
{
    if (space->base) {
        *out = space->base + offset;
        return PFD_OK;
    }
    const pfd_compute_args *args = w->row->args;
    return args->host->read(space->file, offset, size, args->scratch, out, w->err);
}

/* Whether item i is null. */
static inline pfd_status is_null(const writer *w, const pfd_arrow_space *space, int64_t validity,
                                 int64_t i, int32_t *null)
{
    const uint8_t *bits;
    *null = 0;
    if (!validity) return PFD_OK;
    PFD_TRY(bytes_at(w, space, validity + i / 8, 1, &bits));
    *null = !(*bits >> (i % 8) & 1);
    return PFD_OK;
}

/* Whether one of the items [begin, end) is null. */
static pfd_status has_null(const writer *w, const pfd_arrow_space *space, int64_t validity,
                           int64_t begin, int64_t end, int32_t *found)
{
    const uint8_t *bits;
    *found = 0;
    if (!validity || begin >= end) return PFD_OK;
    int64_t first = begin / 8;
    PFD_TRY(bytes_at(w, space, validity + first, (end + 7) / 8 - first, &bits));
    for (int64_t i = begin; i < end && !*found; i++)
        *found = !(bits[i / 8 - first] >> (i % 8) & 1);
    return PFD_OK;
}

static inline int64_t offset_at(const uint8_t *offsets, int32_t is_large, int64_t i)
{
    return is_large ? (int64_t)pfd_load_le64(offsets + 8 * i)
                    : (int32_t)pfd_load_le32(offsets + 4 * i);
}

static pfd_status fail_order(const writer *w, const pfd_arrow_space *space, int64_t at,
                             int64_t before, int64_t offset)
{
    return fail_row(w, space, at,
                    "has the offset %" PRId64 " after %" PRId64 ": one of them is damaged", offset,
                    before);
}

/* Reads offsets i and i + 1, which must not fall, nor go past the items that they lead to. Nor must
 * the one before them be above them, or the one after them below: where offsets fall, either of the
 * two may be damaged, and the items on both sides of a damaged offset are in doubt. */
static inline pfd_status offsets_at(const writer *w, const pfd_arrow_space *space,
                                    const int64_t *words, int32_t is_large, int64_t i,
                                    int64_t out[2])
{
    const uint8_t *found;
    int64_t bytes = is_large ? 8 : 4, at = words[PFD_WORD_BUFFER] + i * bytes;
    int64_t most = words[PFD_WORD_SIZE];
    int64_t has_before = i > 0, n = 2 + has_before + (i + 1 < words[PFD_WORD_COUNT]);
    PFD_TRY(bytes_at(w, space, at - has_before * bytes, n * bytes, &found));
    int64_t before = offset_at(found, is_large, 0), after = offset_at(found, is_large, n - 1);
    out[0] = offset_at(found, is_large, has_before);
    out[1] = offset_at(found, is_large, has_before + 1);
    if (out[0] >= 0 && before <= out[0] && out[0] <= out[1] && out[1] <= after && out[1] <= most)
        return PFD_OK;
    if (before > out[0]) return fail_order(w, space, at, before, out[0]);
    if (out[0] >= 0 && out[0] <= out[1] && out[1] <= most)
        return fail_order(w, space, at + 2 * bytes, out[1], after);
    return fail_row(w, space, at,
                    "has the offsets %" PRId64 " and %" PRId64 ", and its values have %" PRId64
                    " items", out[0], out[1], most);
}

/* ---- Rows: writing --------------------------------------------------------------------------- */

static pfd_status no_memory(const writer *w)
{
    return w->row->args->host->fail(w->err, PFD_OUT_OF_MEMORY, "no memory for a row");
}

/* Says that there is a null, in place of a row or, as is_item, of a number. */
static pfd_status fail_null(const writer *w, const pfd_arrow_space *space, int32_t is_item)
{
    const pfd_arrow_output *output = w->output;
    const char *instead = pfd_arrow_is_bytes(w->column)              ? ":bytes="
                          : output->is_ragged && !is_item          ? "="
                          : pfd_dtype_is_float(output->type.dtype) ? "=nan"
                          : output->type.dtype == PFD_BOOL         ? "=false"
                                                                   : "=0";
    size_t size = strlen(output->element); /* without the default that replaces rows alone */
    if (output->has_default) size -= (size_t)output->spec.default_size + 1;
    const char *end = pfd_arrow_is_bytes(w->column) && output->spec.has_type ? "=" : instead;
    return fail_row(w, space, -1, "has a null here; a default, as in '%.*s%s', would replace it",
                    (int)(size < 200 ? size : 200), output->element, end);
}

/* Writes the row in place of a null. */
static pfd_status write_default(const writer *w, const pfd_arrow_space *space)
{
    const pfd_arrow_output *output = w->output;
    const pfd_field_spec *spec = &output->spec;
    int64_t row = w->row->row;
    if (!output->has_default) return fail_null(w, space, 0);
    if (output->is_ragged) {
        w->out->rows[row] = (pfd_ragged_row){0};
        if (!output->has_item && spec->default_size > 0)
            w->out->rows[row] = (pfd_ragged_row){spec->default_text, spec->default_size, NULL};
        return PFD_OK;
    }
    int64_t item = pfd_dtype_size(output->type.dtype);
    pfd_fill(w->out->data + row * w->out->row_bytes, w->out->row_bytes / item, output->item, item);
    return PFD_OK;
}

/* Checks a shape against the type of the output. */
static pfd_status check_shape(const writer *w, const pfd_arrow_space *space, int64_t at, run *items)
{
    const pfd_row_type *type = &w->output->type;
    for (int32_t d = 0; d < type->ndim; d++) {
        if (type->shape[d] < 0 || items->shape[d] == type->shape[d]) continue;
        if (d > 0 && items->end == items->begin && w->output->is_ragged) {
            items->shape[d] = type->shape[d]; /* the outer list is empty */
            continue;
        }
        return fail_row(w, space, at,
                        "has %" PRId64 " items along dimension %d here, but the output has "
                        "%" PRId64, items->shape[d], d, type->shape[d]);
    }
    return PFD_OK;
}

/* Points the row at `n` items, or copies them. */
static pfd_status write_items(const writer *w, const pfd_arrow_space *space, const uint8_t *data,
                              int64_t n, const int64_t *shape)
{
    const pfd_compute_args *args = w->row->args;
    const pfd_row_type *type = &w->output->type;
    int64_t row = w->row->row, item = pfd_dtype_size(type->dtype);
    if (!w->out->is_ragged) {
        memcpy(w->out->data + row * w->out->row_bytes, data, (size_t)(n * item));
        return PFD_OK;
    }
    pfd_ragged_row *to = &w->out->rows[row];
    to->num_elements = n;
    if (n > 0 && (space->is_passing || (uintptr_t)data % (uintptr_t)item)) {
        uint8_t *copy = args->host->alloc(args->scratch, n * item);
        if (!copy) return no_memory(w);
        data = memcpy(copy, data, (size_t)(n * item));
    }
    to->data = data;
    if (type->ndim == 1) return PFD_OK;
    int64_t *kept = args->host->alloc(args->scratch, type->ndim * (int64_t)sizeof *kept);
    if (!kept) return no_memory(w);
    to->shape = memcpy(kept, shape, (size_t)type->ndim * sizeof *kept);
    return PFD_OK;
}

/* Writes bytes; an output with a fixed shape states their number. */
static pfd_status write_bytes(const writer *w, const pfd_arrow_space *space, const uint8_t *data,
                              int64_t size, int64_t at)
{
    if (!w->out->is_ragged && size != w->out->row_bytes)
        return fail_row(w, space, at, "has %" PRId64 " bytes here, but the output has %" PRId64,
                        size, w->out->row_bytes);
    return write_items(w, space, data, size, NULL);
}

/* The bytes of a text, and their place in the space. */
typedef struct found_text {
    const uint8_t *data;
    int64_t size, at;
} found_text;

/* Finds view i of texts: up to 12 bytes are in the view itself. */
static pfd_status find_view(const writer *w, const pfd_arrow_space *space, const int64_t *words,
                            int64_t i, found_text *out)
{
    enum { VIEW = 16, INLINE = 12 };
    const uint8_t *view, *data;
    int64_t at = words[PFD_WORD_BUFFER] + VIEW * i;
    PFD_TRY(bytes_at(w, space, at, VIEW, &view));
    int64_t size = (int32_t)pfd_load_le32(view);
    *out = (found_text){view + 4, size, at};
    if (size >= 0 && size <= INLINE) return PFD_OK;
    int64_t number = (int32_t)pfd_load_le32(view + 8), offset = (int32_t)pfd_load_le32(view + 12);
    if (size < 0 || number < 0 || number >= words[PFD_WORD_COUNT])
        return fail_row(w, space, at,
                        "has a view of %" PRId64 " bytes in buffer %" PRId64 "; there are %" PRId64
                        " buffers", size, number, words[PFD_WORD_COUNT]);
    pfd_arrow_extent in = space->extras[words[PFD_WORD_EXTRAS] + number];
    if (offset < 0 || offset > in.size || size > in.size - offset)
        return fail_row(w, space, at,
                        "has a view of %" PRId64 " bytes at %" PRId64 " of a buffer of %" PRId64
                        " bytes", size, offset, in.size);
    PFD_TRY(bytes_at(w, space, in.offset + offset, size, &data));
    *out = (found_text){data, size, in.offset + offset};
    return PFD_OK;
}

static inline pfd_status find_text(const writer *w, const pfd_arrow_space *space,
                                   const pfd_arrow_level *values, int64_t i, found_text *out)
{
    const int64_t *words = space->words + values->word;
    int64_t offsets[2];
    if (values->kind == PFD_ARROW_VIEWS) return find_view(w, space, words, i, out);
    PFD_TRY(offsets_at(w, space, words, values->kind == PFD_ARROW_LARGE_BYTES, i, offsets));
    out->size = offsets[1] - offsets[0];
    out->at = words[PFD_WORD_DATA] + offsets[0];
    return bytes_at(w, space, out->at, out->size, &out->data);
}

static pfd_status write_text(const writer *w, const pfd_arrow_space *space,
                             const pfd_arrow_level *values, int64_t i)
{
    found_text found;
    PFD_TRY(find_text(w, space, values, i, &found));
    return write_bytes(w, space, found.data, found.size, found.at);
}

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/* The unscaled value of a decimal of 4, 8, 16 or 32 bytes; 0: it has more than 128 bits. */
static int32_t load_decimal(const uint8_t *data, int64_t bytes, int128 *out)
{
    int64_t low = bytes == 4 ? (int32_t)pfd_load_le32(data) : (int64_t)pfd_load_le64(data);
    *out = low;
    if (bytes < 16) return 1;
    int64_t high = (int64_t)pfd_load_le64(data + 8), sign = high >> 63;
    *out = (int128)(((uint128)(uint64_t)high << 64) | (uint64_t)low);
    return bytes == 16 || ((int64_t)pfd_load_le64(data + 16) == sign &&
                           (int64_t)pfd_load_le64(data + 24) == sign);
}

/* The double that is nearest to value / 10^scale. */
static double nearest_double(const pfd_host *host, int128 value, int32_t scale)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { DIGITS = 40, EXPONENT = 16 };
    const int64_t exact = INT64_C(1) << 53;
    if (scale >= 0 && scale < (int32_t)PFD_COUNT(powers) && value <= exact && value >= -exact)
        return (double)(int64_t)value / powers[scale]; /* both exact: one rounding */
    char text[DIGITS + EXPONENT], *at = text + DIGITS;
    uint128 left = value < 0 ? -(uint128)value : (uint128)value;
    int64_t size = snprintf(at, EXPONENT, "e%d", -scale);
    double found = 0;
    do *--at = (char)('0' + (int32_t)(left % 10)), size++;
    while (left /= 10);
    if (value < 0) *--at = '-', size++;
    (void)host->parse_double(at, size, &found);
    return found;
}

/* Decimals with digits after the point become the nearest float64; others are int64. */
static pfd_status read_decimals(const writer *w, const pfd_arrow_space *space,
                                const pfd_arrow_level *values, int64_t begin, int64_t n,
                                const uint8_t **out)
{
    const pfd_compute_args *args = w->row->args;
    const int64_t *words = space->words + values->word;
    int64_t at = words[PFD_WORD_BUFFER] + begin * values->size;
    uint8_t *numbers = args->host->alloc(args->scratch, n * 8 + 1);
    const uint8_t *data = NULL;
    if (!numbers) return no_memory(w);
    if (n > 0) PFD_TRY(bytes_at(w, space, at, n * values->size, &data));
    for (int64_t i = 0; i < n; i++) {
        int128 value;
        int32_t fits = load_decimal(data + i * values->size, values->size, &value);
        int64_t whole = (int64_t)value;
        double number = 0;
        if (fits && values->scale) number = nearest_double(args->host, value, values->scale);
        else if (!fits || whole != value) {
            int32_t null = 0; /* its bytes may be any */
            PFD_TRY(is_null(w, space, words[PFD_WORD_VALIDITY], begin + i, &null));
            if (!null)
                return fail_row(w, space, at + i * values->size,
                                "has a decimal that does not fit into %s",
                                values->scale ? "128 bits" : "int64");
        }
        memcpy(numbers + i * 8, values->scale ? (const void *)&number : &whole, 8);
    }
    *out = numbers;
    return PFD_OK;
}

/* Reads numbers [begin, end) of values; *out is in the file or in the scratch. */
static pfd_status read_numbers(const writer *w, const pfd_arrow_space *space,
                               const pfd_arrow_level *values, int64_t begin, int64_t end,
                               const uint8_t **out)
{
    const pfd_compute_args *args = w->row->args;
    int64_t word = space->words[values->word + PFD_WORD_BUFFER], n = end - begin;
    if (values->kind == PFD_ARROW_DECIMALS)
        return read_decimals(w, space, values, begin, n, out);
    if (values->kind != PFD_ARROW_BITS)
        return bytes_at(w, space, word + begin * values->bytes, n * values->bytes, out);
    uint8_t *bools = args->host->alloc(args->scratch, n + 1);
    const uint8_t *bits = NULL;
    if (!bools) return no_memory(w);
    int64_t first = begin / 8;
    if (n > 0) PFD_TRY(bytes_at(w, space, word + first, (end + 7) / 8 - first, &bits));
    for (int64_t i = 0; i < n; i++)
        bools[i] = bits[(begin + i) / 8 - first] >> ((begin + i) % 8) & 1;
    *out = bools;
    return PFD_OK;
}

static int64_t key_at(const uint8_t *keys, int64_t i, int32_t dtype)
{
    const uint8_t *at = keys + i * pfd_dtype_size(dtype);
    switch (dtype) {
    case PFD_INT8: return (int8_t)*at;
    case PFD_UINT8: return *at;
    case PFD_INT16: return (int16_t)pfd_load_le16(at);
    case PFD_UINT16: return pfd_load_le16(at);
    case PFD_INT32: return (int32_t)pfd_load_le32(at);
    case PFD_UINT32: return pfd_load_le32(at);
    default: return (int64_t)pfd_load_le64(at); /* a uint64 above 2^63 becomes negative */
    }
}

/* Finds the value of a key; *null: the dictionary has a null for it. */
static pfd_status find_value(const writer *w, const pfd_arrow_dictionary *from, int64_t key,
                             int64_t at, int32_t *null)
{
    if (key < 0 || key >= from->rows)
        return fail_row(w, &w->row->space, at,
                        "has the number %" PRId64 " of a value; its dictionary has %" PRId64
                        " values", key, from->rows);
    return is_null(w, &from->space, from->words[PFD_WORD_VALIDITY], key, null);
}

/* Copies the numbers of keys [begin, end) from a dictionary; a null becomes the default item. */
static pfd_status gather(const writer *w, int64_t begin, int64_t end, const uint8_t *keys,
                         const pfd_arrow_dictionary *from, uint8_t *out)
{
    const pfd_arrow_column *column = w->column;
    int64_t item = column->values.bytes;
    int64_t word = w->row->space.words[column->keys.word + PFD_WORD_BUFFER];
    for (int64_t i = 0; i < end - begin; i++, out += item) {
        const uint8_t *value;
        int32_t null = 0;
        int64_t key = key_at(keys, i, column->index);
        PFD_TRY(find_value(w, from, key, word + (begin + i) * column->keys.bytes, &null));
        if (null && !w->output->has_item) return fail_null(w, &w->row->space, 1);
        if (!null) PFD_TRY(read_numbers(w, &from->space, &column->values, key, key + 1, &value));
        memcpy(out, null ? w->output->item : value, (size_t)item);
    }
    return PFD_OK;
}

/* Replaces nulls among the numbers [begin, end) by the default; *data becomes a copy. */
static pfd_status replace_nulls(const writer *w, int64_t validity, const run *items, int64_t bytes,
                                const uint8_t **data)
{
    const pfd_compute_args *args = w->row->args;
    int64_t n = items->end - items->begin;
    uint8_t *copy = args->host->alloc(args->scratch, n * bytes);
    if (!copy) return no_memory(w);
    memcpy(copy, *data, (size_t)(n * bytes));
    for (int64_t i = 0; i < n; i++) {
        int32_t null = 0;
        PFD_TRY(is_null(w, &w->row->space, validity, items->begin + i, &null));
        if (null) memcpy(copy + i * bytes, w->output->item, (size_t)bytes);
    }
    *data = copy;
    return PFD_OK;
}

/* Keys that are null count as 0 until replace_nulls(). */
static pfd_status decode_keys(const writer *w, const run *items, int32_t has_nulls,
                              const uint8_t **data)
{
    const pfd_compute_args *args = w->row->args;
    const pfd_arrow_column *column = w->column;
    const int64_t *words = w->row->space.words + column->keys.word;
    int64_t n = items->end - items->begin, item = column->values.bytes;
    const pfd_arrow_dictionary *from = w->row->dictionaries[words[PFD_WORD_DICTIONARY]];
    uint8_t *out = args->host->alloc(args->scratch, n * item + 1);
    if (!out) return no_memory(w);
    if (!has_nulls) PFD_TRY(gather(w, items->begin, items->end, *data, from, out));
    for (int64_t i = 0; has_nulls && i < n; i++) {
        int32_t null = 0;
        PFD_TRY(is_null(w, &w->row->space, words[PFD_WORD_VALIDITY], items->begin + i, &null));
        if (null) memset(out + i * item, 0, (size_t)item);
        else
            PFD_TRY(gather(w, items->begin + i, items->begin + i + 1,
                           *data + i * column->keys.bytes, from, out + i * item));
    }
    *data = out;
    return PFD_OK;
}

/* Writes the numbers of a row, which are contiguous. */
static pfd_status write_run(const writer *w, run *items)
{
    const pfd_arrow_column *column = w->column;
    const pfd_arrow_space *space = &w->row->space;
    const pfd_arrow_level *last = column->has_dictionary ? &column->keys : &column->values;
    const int64_t *words = space->words + last->word;
    int64_t at = words[PFD_WORD_BUFFER] + items->begin * pfd_arrow_stored_bytes(last);
    const uint8_t *data = NULL;
    int32_t nulls = 0;
    PFD_TRY(check_shape(w, space, at, items));
    if (items->end == items->begin) {
        return write_items(w, space, (const uint8_t *)"", 0, items->shape);
    }
    PFD_TRY(has_null(w, space, words[PFD_WORD_VALIDITY], items->begin, items->end, &nulls));
    if (nulls && !w->output->has_item) return fail_null(w, space, 1);
    PFD_TRY(read_numbers(w, space, last, items->begin, items->end, &data));
    if (column->has_dictionary) PFD_TRY(decode_keys(w, items, nulls, &data));
    if (nulls)
        PFD_TRY(replace_nulls(w, words[PFD_WORD_VALIDITY], items, column->values.bytes, &data));
    return write_items(w, space, data, items->end - items->begin, items->shape);
}

/* ---- Rows: lists ----------------------------------------------------------------------------- */

/* Goes into the lists [begin, end), which have one length: a row is rectangular. */
static pfd_status enter_lists(const writer *w, const pfd_arrow_level *level, run *items)
{
    const pfd_arrow_space *space = &w->row->space;
    const int64_t *words = space->words + level->word;
    int32_t is_large = level->kind == PFD_ARROW_LARGE_LISTS;
    int64_t begin = 0, end = 0, size = 0, pair[2];
    for (int64_t i = items->begin; i < items->end; i++) {
        PFD_TRY(offsets_at(w, space, words, is_large, i, pair));
        if (i == items->begin) {
            begin = pair[0];
            size = pair[1] - pair[0];
        } else if (pair[0] != end || pair[1] - pair[0] != size) {
            return fail_row(w, space, words[PFD_WORD_BUFFER] + i * (is_large ? 8 : 4),
                            "has lists of %" PRId64 " and of %" PRId64 " items along dimension %d "
                            "in one row, which has to be rectangular; as '%.*s:json' it is text",
                            size, pair[1] - pair[0], items->ndim, (int)w->output->spec.key_size,
                            w->output->spec.key);
        }
        end = pair[1];
    }
    items->shape[items->ndim++] = size;
    items->begin = begin;
    items->end = end;
    return PFD_OK;
}

/* Goes one step into the items of a row.  *null: the row itself is null. */
static pfd_status enter(const writer *w, const pfd_arrow_level *level, int32_t is_row, run *items,
                        int32_t *null)
{
    const pfd_arrow_space *space = &w->row->space;
    int64_t validity = space->words[level->word];
    PFD_TRY(has_null(w, space, validity, items->begin, items->end, null));
    if (*null && is_row) return PFD_OK;
    if (*null)
        return fail_row(w, space, -1,
                        "has a null in a list, which no default replaces");
    if (level->kind == PFD_ARROW_MEMBERS) return PFD_OK;
    if (level->kind != PFD_ARROW_FIXED) return enter_lists(w, level, items);
    items->begin *= level->size;
    items->end *= level->size;
    items->shape[items->ndim++] = level->size;
    return PFD_OK;
}

static pfd_status write_lists(const writer *w, const pfd_arrow_row *row)
{
    const pfd_arrow_column *column = w->column;
    run items = {.begin = row->index, .end = row->index + 1};
    for (int32_t k = 0; k < column->num_levels; k++) {
        int32_t null = 0;
        const pfd_arrow_level *level = &column->levels[k];
        PFD_TRY(enter(w, level, k <= column->num_outer, &items, &null));
        if (null) return write_default(w, &row->space);
    }
    return write_run(w, &items);
}

/* Writes a text, or one number. */
static pfd_status write_single(const writer *w, const pfd_arrow_row *row)
{
    const pfd_arrow_column *column = w->column;
    const pfd_arrow_space *space = &row->space;
    const pfd_arrow_level *last = column->has_dictionary ? &column->keys : &column->values;
    const int64_t *words = space->words + last->word;
    const uint8_t *data;
    int64_t i = row->index;
    int32_t null = 0;
    for (int32_t k = 0; k < column->num_levels && !null; k++)
        PFD_TRY(is_null(w, space, space->words[column->levels[k].word], i, &null));
    if (!null) PFD_TRY(is_null(w, space, words[PFD_WORD_VALIDITY], i, &null));
    if (null) return write_default(w, space);
    if (!column->has_dictionary && pfd_arrow_is_bytes(column))
        return write_text(w, space, &column->values, i);
    PFD_TRY(read_numbers(w, space, last, i, i + 1, &data));
    if (!column->has_dictionary) return write_items(w, space, data, 1, NULL);
    const pfd_arrow_dictionary *from = row->dictionaries[words[PFD_WORD_DICTIONARY]];
    int64_t key = key_at(data, 0, column->index), at = words[PFD_WORD_BUFFER] + i * last->bytes;
    PFD_TRY(find_value(w, from, key, at, &null));
    if (null) return write_default(w, space);
    if (pfd_arrow_is_bytes(column)) return write_text(w, &from->space, &column->values, key);
    PFD_TRY(read_numbers(w, &from->space, &column->values, key, key + 1, &data));
    return write_items(w, &from->space, data, 1, NULL);
}

/* ---- Rows: JSON ------------------------------------------------------------------------------ */

/* A text that grows in the scratch. */
typedef struct json_text {
    const writer *w;
    uint8_t *data;
    int64_t size, capacity;
} json_text;

/* Adds bytes; `more` are free after them: so many may be written there. */
static pfd_status put(json_text *to, const void *bytes, int64_t n, int64_t more)
{
    const pfd_compute_args *args = to->w->row->args;
    if (to->size + n + more > to->capacity) {
        int64_t capacity = 2 * (to->size + n + more) + 256;
        uint8_t *grown = args->host->alloc(args->scratch, capacity);
        if (!grown) return no_memory(to->w);
        if (to->size) memcpy(grown, to->data, (size_t)to->size);
        to->data = grown;
        to->capacity = capacity;
    }
    if (n) memcpy(to->data + to->size, bytes, (size_t)n);
    to->size += n;
    return PFD_OK;
}

static pfd_status put_word(json_text *to, const char *word)
{
    return put(to, word, (int64_t)strlen(word), 0);
}

/* Adds a text in quotes; it is UTF-8. */
static pfd_status put_string(json_text *to, const uint8_t *text, int64_t size)
{
    int64_t begin = 0;
    PFD_TRY(put_word(to, "\""));
    for (int64_t i = 0; i < size; i++) {
        char escape[8];
        if (text[i] >= ' ' && text[i] != '"' && text[i] != '\\') continue;
        PFD_TRY(put(to, text + begin, i - begin, 0));
        begin = i + 1;
        if (text[i] >= ' ') (void)snprintf(escape, sizeof escape, "\\%c", text[i]);
        else (void)snprintf(escape, sizeof escape, "\\u%04x", text[i]);
        PFD_TRY(put_word(to, escape));
    }
    PFD_TRY(put(to, text + begin, size - begin, 0));
    return put_word(to, "\"");
}

static pfd_status put_number(json_text *to, int32_t dtype, const uint8_t *data)
{
    _Alignas(8) uint8_t stored[8] = {0}, wide[8];
    memcpy(stored, data, (size_t)pfd_dtype_size(dtype));
    if (dtype == PFD_BOOL) return put_word(to, stored[0] ? "true" : "false");
    int32_t as = pfd_dtype_is_float(dtype) ? PFD_FLOAT64
                 : dtype == PFD_UINT64     ? PFD_UINT64
                                           : PFD_INT64;
    (void)pfd_convert_stored(dtype, stored, as, wide, 1);
    PFD_TRY(put(to, NULL, 0, PFD_MOST_NUMBER_BYTES));
    uint8_t *end, *at = to->data + to->size;
    double real;
    int64_t whole;
    memcpy(&real, wide, sizeof real);
    memcpy(&whole, wide, sizeof whole);
    if (as == PFD_FLOAT64 && real != real) return put_word(to, "NaN");
    if (as == PFD_FLOAT64 && real - real != 0)
        return put_word(to, real > 0 ? "Infinity" : "-Infinity");
    if (as == PFD_FLOAT64) end = pfd_print_float64(real, at);
    else if (as == PFD_UINT64) end = pfd_print_uint64((uint64_t)whole, at);
    else end = pfd_print_int64(whole, at);
    to->size += end - at;
    return PFD_OK;
}

static pfd_status put_value(json_text *to, int32_t i, int64_t index);

/* The members of a struct; of one that the path goes through, the only one that it names. */
static pfd_status put_members(json_text *to, int32_t i, int64_t index)
{
    const pfd_arrow_column *column = to->w->column;
    const pfd_arrow_field *fields = column->json;
    int32_t is_passed = i < column->field, is_pair = i > 0 && fields[i - 1].type == PFD_ARROW_MAP;
    const char *before = is_pair ? "[" : "{";
    for (int32_t k = i + 1; k < fields[i].end; k = fields[k].end) {
        if (is_passed && is_in_json(column, k)) return put_value(to, k, index);
        if (is_passed) continue;
        PFD_TRY(put_word(to, before));
        before = ",";
        if (!is_pair) {
            if (!pfd_is_utf8((const uint8_t *)fields[k].name, fields[k].name_size))
                return fail_row(to->w, &to->w->row->space, -1, "has a name that is not UTF-8");
            PFD_TRY(put_string(to, (const uint8_t *)fields[k].name, fields[k].name_size));
            PFD_TRY(put_word(to, ":"));
        }
        PFD_TRY(put_value(to, k, index));
    }
    if (before[0] != ',') PFD_TRY(put_word(to, before));
    return put_word(to, is_pair ? "]" : "}");
}

static pfd_status put_items(json_text *to, int32_t i, int64_t index)
{
    const pfd_arrow_field *field = &to->w->column->json[i];
    const pfd_arrow_space *space = &to->w->row->space;
    pfd_arrow_level level = pfd_arrow_json_level(to->w->column, i);
    const int64_t *words = space->words + level.word;
    int64_t pair[2] = {index * field->size, (index + 1) * field->size};
    if (field->type != PFD_ARROW_FIXED_LIST)
        PFD_TRY(offsets_at(to->w, space, words, field->type == PFD_ARROW_LARGE_LIST, index, pair));
    PFD_TRY(put_word(to, "["));
    for (int64_t k = pair[0]; k < pair[1]; k++) {
        if (k > pair[0]) PFD_TRY(put_word(to, ","));
        PFD_TRY(put_value(to, i + 1, k));
    }
    return put_word(to, "]");
}

/* Adds item `index` of field i.  The depth is that of the schema, 64 at most. */
static pfd_status put_value(json_text *to, int32_t i, int64_t index)
{
    const writer *w = to->w;
    const pfd_arrow_field *field = &w->column->json[i];
    const pfd_arrow_space *space = &w->row->space;
    pfd_arrow_level level = pfd_arrow_json_level(w->column, i);
    int32_t null = field->type == PFD_ARROW_NULL;
    if (!null) PFD_TRY(is_null(w, space, space->words[level.word], index, &null));
    if (null) return put_word(to, "null");
    if (field->type == PFD_ARROW_STRUCT) return put_members(to, i, index);
    if (field->num_children) return put_items(to, i, index);
    if (level.kind < PFD_ARROW_BYTES) {
        const uint8_t *number;
        PFD_TRY(read_numbers(w, space, &level, index, index + 1, &number));
        return put_number(to, field->dtype, number);
    }
    found_text text;
    PFD_TRY(find_text(w, space, &level, index, &text));
    if (!pfd_is_utf8(text.data, text.size))
        return fail_row(w, space, text.at, "has a text that is not UTF-8 here");
    return put_string(to, text.data, text.size);
}

static pfd_status write_json(const writer *w)
{
    json_text text = {.w = w};
    PFD_TRY(put_value(&text, w->column->root, w->row->index));
    if (w->output->has_default && text.size == 4 && !memcmp(text.data, "null", 4))
        return write_default(w, &w->row->space);
    w->out->rows[w->row->row] = (pfd_ragged_row){text.data, text.size, NULL};
    return PFD_OK;
}

static pfd_status write_row(const writer *w)
{
    if (w->column->json) return write_json(w);
    if (w->column->num_levels > w->column->num_outer) return write_lists(w, w->row);
    return write_single(w, w->row);
}

/* ---- Rows: neighbours ------------------------------------------------------------------------ */

/* Most rows have no nulls and no dictionary, and follow their neighbours in the batch: they are
 * written with one copy, or with one look at each offset.  Where a row is something else, or is
 * wrong, write_row() looks at all of them. */

/* Whether offsets fall before the items [begin, end) of a level, or after them. */
static inline int32_t falls_beside(const uint8_t *offsets, int32_t is_large, int64_t begin,
                                   int64_t end, int64_t items)
{
    return (begin > 0 &&
            offset_at(offsets, is_large, begin) < offset_at(offsets, is_large, begin - 1)) ||
           (end < items &&
            offset_at(offsets, is_large, end + 1) < offset_at(offsets, is_large, end));
}

/* Enters the lists [begin, end), each of which must have `size` items; 0: one does not. */
static int32_t enter_equal(const pfd_arrow_space *space, const pfd_arrow_level *level, int64_t size,
                           run *items)
{
    const int64_t *words = space->words + level->word;
    const uint8_t *offsets = space->base + words[PFD_WORD_BUFFER];
    int32_t is_large = level->kind == PFD_ARROW_LARGE_LISTS;
    int64_t n = items->end - items->begin, most = words[PFD_WORD_SIZE], wrong = 0;
    int64_t first = offset_at(offsets, is_large, items->begin);
    if (falls_beside(offsets, is_large, items->begin, items->end, words[PFD_WORD_COUNT])) return 0;
    if (first < 0 || first > most || n * size > most - first) return 0;
    for (int64_t i = 1; i <= n; i++)
        wrong |= offset_at(offsets, is_large, items->begin + i) - first - i * size;
    items->begin = first;
    items->end = first + n * size;
    return wrong == 0;
}

/* Copies dense rows of numbers. */
static int32_t copy_numbers(const writer *w)
{
    const pfd_arrow_column *column = w->column;
    const pfd_arrow_row *row = w->row;
    const pfd_arrow_space *space = &row->space;
    const int64_t *words = space->words + column->values.word, *shape = w->output->type.shape;
    run items = {.begin = row->index, .end = row->index + row->n};
    if (column->values.kind != PFD_ARROW_NUMBERS || words[PFD_WORD_VALIDITY]) return 0;
    for (int32_t k = 0; k < column->num_levels; k++) {
        const pfd_arrow_level *level = &column->levels[k];
        if (space->words[level->word]) return 0;
        if (level->kind == PFD_ARROW_MEMBERS) continue;
        int64_t size = *shape++;
        if (level->kind != PFD_ARROW_FIXED) {
            if (!enter_equal(space, level, size, &items)) return 0;
            continue;
        }
        if (level->size != size) return 0;
        items.begin *= size;
        items.end *= size;
    }
    memcpy(w->out->data + row->row * w->out->row_bytes,
           space->base + words[PFD_WORD_BUFFER] + items.begin * column->values.bytes,
           (size_t)(row->n * w->out->row_bytes));
    return 1;
}

/* Points ragged rows at their texts or lists of numbers, or at one copy of them all. */
static int32_t point_at_items(const writer *w)
{
    const pfd_arrow_column *column = w->column;
    const pfd_arrow_row *row = w->row;
    const pfd_arrow_space *space = &row->space;
    const pfd_arrow_level *values = &column->values, *lists = values;
    const int64_t *words = space->words;
    int32_t is_text = pfd_arrow_is_bytes(column);
    if (column->num_levels != column->num_outer + !is_text || words[values->word]) return 0;
    for (int32_t k = 0; k < column->num_levels; k++) {
        lists = is_text ? values : &column->levels[k];
        if (words[column->levels[k].word]) return 0;
    }
    if (lists->kind == (is_text ? PFD_ARROW_VIEWS : PFD_ARROW_FIXED) ||
        pfd_arrow_is_converted(column))
        return 0;
    const uint8_t *offsets = space->base + words[lists->word + PFD_WORD_BUFFER];
    int32_t is_large = lists->kind == (is_text ? PFD_ARROW_LARGE_BYTES : PFD_ARROW_LARGE_LISTS);
    int64_t most = words[lists->word + PFD_WORD_SIZE], last = row->index + row->n;
    int64_t begin = offset_at(offsets, is_large, row->index);
    int64_t end = offset_at(offsets, is_large, last);
    if (begin < 0 || end < begin || end > most ||
        falls_beside(offsets, is_large, row->index, last, words[lists->word + PFD_WORD_COUNT]))
        return 0;
    int64_t item = values->bytes, word = is_text ? PFD_WORD_DATA : PFD_WORD_BUFFER;
    const uint8_t *data = space->base + words[values->word + word] + begin * item;
    if (end > begin && (space->is_passing || (uintptr_t)data % (uintptr_t)item)) {
        uint8_t *copy = row->args->host->alloc(row->args->scratch, (end - begin) * item);
        if (!copy) return 0;
        data = memcpy(copy, data, (size_t)((end - begin) * item));
    }
    pfd_ragged_row *to = w->out->rows + row->row;
    for (int64_t i = 1, next; i <= row->n; i++, begin = next, to++) {
        next = offset_at(offsets, is_large, row->index + i);
        if (next < begin || next > end) return 0;
        *to = (pfd_ragged_row){data, next - begin, NULL};
        data += (next - begin) * item;
    }
    return 1;
}

static int32_t write_at_once(const writer *w)
{
    if (!w->row->space.base || w->column->json || w->column->has_dictionary) return 0;
    return w->out->is_ragged ? point_at_items(w) : copy_numbers(w);
}

/* Writes row by row; *n becomes the number of rows before one that fails. */
static pfd_status write_one_by_one(const writer *w, pfd_arrow_row *row, int64_t *n)
{
    pfd_status status = PFD_OK;
    int64_t i = 0;
    for (; i < *n && status == PFD_OK; i++, row->row++, row->index++) status = write_row(w);
    row->row -= i;
    row->index -= i;
    if (status != PFD_OK) *n = i - 1;
    return status;
}

pfd_status pfd_arrow_rows_write(const pfd_arrow_column *columns, const pfd_arrow_output *outputs,
                                int64_t num_outputs, pfd_arrow_row *row, pfd_error *err)
{
    pfd_status status = PFD_OK, failed;
    int64_t n = row->n;
    for (int64_t i = 0; i < num_outputs && n > 0; i++) {
        writer w = {&columns[i], &outputs[i], row, row->args->outputs[i], err};
        if (write_at_once(&w)) continue;
        failed = write_one_by_one(&w, row, &n);
        if (failed != PFD_OK) status = failed; /* of a row before that of the last failure */
    }
    row->row += row->n;
    return status;
}

int64_t pfd_arrow_neighbours(const pfd_compute_args *args, int64_t row, int64_t end)
{
    const pfd_record *records = args->records + row;
    int64_t n = 1, most = args->num_rows - row, first = records->ordinal;
    if (most > end - first) most = end - first;
    while (n < most && records[n].ordinal == first + n) n++;
    return n;
}

/* ---- Rows: alone ----------------------------------------------------------------------------- */

/* Rows without neighbours, as in shuffled order, are written column by column: while one is copied,
 * others are on their way from memory.  Most have one text or list, or a fixed number of numbers,
 * and no nulls: these are found fast, and write_row() looks at the others. */

/* How most rows of a column are found. */
typedef struct fast_column {
    const pfd_arrow_level *lists; /* whose offsets are read; NULL: all rows have one size */
    int64_t items, item;          /* items of a row, -1: any number; bytes of an item */
    int32_t data;                 /* the word that says where items begin */
    int32_t is_large;
    int32_t has_items; /* a list has them, with a validity of their own */
} fast_column;

/* 0: there is none for the column. */
static int32_t find_fast_column(const writer *w, fast_column *out)
{
    const pfd_arrow_column *column = w->column;
    const pfd_arrow_level *values = &column->values, *level = &column->levels[column->num_outer];
    const pfd_row_type *type = &w->output->type;
    int32_t is_text = pfd_arrow_is_bytes(column), inner = column->num_levels - column->num_outer;
    if (column->json || column->has_dictionary || pfd_arrow_is_converted(column) ||
        values->kind == PFD_ARROW_VIEWS || inner > !is_text || type->ndim > 1)
        return 0;
    *out = (fast_column){.lists = is_text ? values : inner ? level : NULL,
                         .items = w->out->is_ragged ? -1 : type->ndim ? type->shape[0] : 1,
                         .item = is_text ? 1 : values->bytes,
                         .data = values->word + (is_text ? PFD_WORD_DATA : PFD_WORD_BUFFER),
                         .has_items = inner};
    if (inner && level->kind == PFD_ARROW_FIXED) {
        out->lists = NULL;
        return level->size == out->items;
    }
    out->is_large = is_text ? values->kind == PFD_ARROW_LARGE_BYTES
                            : inner && level->kind == PFD_ARROW_LARGE_LISTS;
    return 1;
}

static inline int32_t is_valid(const uint8_t *base, int64_t validity, int64_t i)
{
    return !validity || base[validity + i / 8] >> (i % 8) & 1;
}

/* The items of a row, in the batch's memory, valid as long as the batch is held. */
typedef struct row_items {
    const uint8_t *data; /* NULL: not known */
    int64_t n;
    int32_t is_complete; /* else write_row() writes the row */
} row_items;

static inline row_items find_row(const writer *w, const fast_column *s, const pfd_arrow_spot *at)
{
    const pfd_arrow_column *column = w->column;
    const int64_t *words = at->space.words;
    const uint8_t *base = at->space.base;
    int64_t i = at->index, begin = i * s->items, n = s->items, nulls = words[column->values.word];
    row_items none = {0};
    if (!base || (nulls && !s->has_items && !is_valid(base, nulls, i))) return none;
    for (int32_t k = 0; k < column->num_levels; k++)
        if (!is_valid(base, words[column->levels[k].word], i)) return none;
    if (s->lists) {
        const int64_t *lists = words + s->lists->word;
        const uint8_t *offsets = base + lists[PFD_WORD_BUFFER];
        begin = offset_at(offsets, s->is_large, i);
        int64_t end = offset_at(offsets, s->is_large, i + 1);
        if (begin < 0 || end < begin || end > lists[PFD_WORD_SIZE] ||
            falls_beside(offsets, s->is_large, i, i + 1, lists[PFD_WORD_COUNT]))
            return none;
        n = end - begin;
        if (s->items >= 0 && n != s->items) return none;
    }
    const uint8_t *data = base + words[s->data] + begin * s->item;
    int32_t may_point = !at->space.is_passing && (uintptr_t)data % (uintptr_t)s->item == 0;
    return (row_items){data, n, !(nulls && s->has_items) && (!w->out->is_ragged || may_point)};
}

static inline void write_found(const writer *w, const fast_column *s, const row_items *from,
                               int64_t row)
{
    const size_t bytes = (size_t)w->out->row_bytes;
    uint8_t *to = w->out->data + (size_t)row * bytes;
    if (w->out->is_ragged) w->out->rows[row] = (pfd_ragged_row){from->data, from->n, NULL};
    else if (s->item == 8 && s->items == 1) memcpy(to, from->data, 8);
    else memcpy(to, from->data, bytes);
}

/* Writes the rows of a column; *n becomes the number of rows before one that fails. */
static pfd_status gather_column(const writer *w, pfd_arrow_row *row, const pfd_arrow_spot *spots,
                                int64_t *n)
{
    enum { AHEAD = 8, KNOWN = 16 };
    fast_column s = {0};
    row_items found[KNOWN];
    pfd_status status = PFD_OK;
    const int64_t first = row->row, is_fast = find_fast_column(w, &s);
    for (int64_t k = 0, ahead = 0; k < *n && status == PFD_OK; k++) {
        for (; is_fast && ahead < *n && ahead <= k + AHEAD; ahead++) {
            row_items *one = &found[ahead % KNOWN];
            *one = find_row(w, &s, &spots[ahead]);
            if (one->data && !w->out->is_ragged) pfd_prefetch(one->data, one->n * s.item);
        }
        if (is_fast && found[k % KNOWN].is_complete) {
            write_found(w, &s, &found[k % KNOWN], first + k);
            continue;
        }
        row->row = first + k;
        row->space = spots[k].space;
        row->index = spots[k].index;
        status = write_row(w);
        if (status != PFD_OK) *n = k;
    }
    row->row = first;
    return status;
}

int64_t pfd_arrow_rows_alone(const pfd_compute_args *args, int64_t row)
{
    const pfd_record *records = args->records;
    int64_t at = row, last = args->num_rows - 1;
    while (at < last && records[at + 1].ordinal != records[at].ordinal + 1) at++;
    return at - row + (at == last);
}

pfd_status pfd_arrow_rows_gather(const pfd_arrow_column *columns, const pfd_arrow_output *outputs,
                                 int64_t num_outputs, pfd_arrow_row *row,
                                 const pfd_arrow_spot *spots, pfd_error *err)
{
    pfd_status status = PFD_OK, failed;
    int64_t n = row->n;
    for (int64_t i = 0; i < num_outputs && n > 0; i++) {
        writer w = {&columns[i], &outputs[i], row, row->args->outputs[i], err};
        failed = gather_column(&w, row, spots, &n);
        if (failed != PFD_OK) status = failed; /* of a row before that of the last failure */
    }
    row->row += row->n;
    return status;
}

/* ---- Rows: their places ---------------------------------------------------------------------- */

/* The items of the first list of a row, or the bytes of its text, as the offsets say; none if the
 * offsets cannot be right. */
static pfd_arrow_extent first_items(const pfd_arrow_space *space, const int64_t *words,
                                    int32_t is_large, int64_t i)
{
    const uint8_t *at = space->base + words[PFD_WORD_BUFFER] + i * (is_large ? 8 : 4);
    int64_t begin = is_large ? (int64_t)pfd_load_le64(at) : (int32_t)pfd_load_le32(at);
    int64_t end = is_large ? (int64_t)pfd_load_le64(at + 8) : (int32_t)pfd_load_le32(at + 4);
    if (begin < 0 || end < begin || end > words[PFD_WORD_SIZE]) begin = end = 0;
    return (pfd_arrow_extent){begin, end - begin};
}

pfd_arrow_extent pfd_arrow_column_place(const pfd_arrow_column *column,
                                        const pfd_arrow_space *space, int64_t index)
{
    const pfd_arrow_level *last = column->has_dictionary ? &column->keys : &column->values;
    const int64_t *words = space->words + last->word;
    int64_t bytes = pfd_arrow_stored_bytes(last);
    pfd_arrow_extent found = {index, 1};
    if (column->json) return (pfd_arrow_extent){0, 0}; /* its values have no place of their own */
    if (last->kind == PFD_ARROW_BYTES || last->kind == PFD_ARROW_LARGE_BYTES) {
        found = first_items(space, words, last->kind == PFD_ARROW_LARGE_BYTES, index);
        return (pfd_arrow_extent){words[PFD_WORD_DATA] + found.offset, found.size};
    }
    if (last->kind == PFD_ARROW_VIEWS) bytes = 16;
    for (int32_t k = column->num_outer; k < column->num_levels; k++) {
        const pfd_arrow_level *level = &column->levels[k];
        const int64_t *of = space->words + level->word;
        if (level->kind == PFD_ARROW_MEMBERS) continue;
        if (level->kind == PFD_ARROW_FIXED) {
            found.offset *= level->size;
            found.size *= level->size;
            continue;
        }
        if (found.size == 0) return (pfd_arrow_extent){words[PFD_WORD_BUFFER], 0};
        int32_t is_large = level->kind == PFD_ARROW_LARGE_LISTS;
        pfd_arrow_extent a = first_items(space, of, is_large, found.offset);
        pfd_arrow_extent b = first_items(space, of, is_large, found.offset + found.size - 1);
        int64_t end = b.offset + b.size;
        found = (pfd_arrow_extent){a.offset, end > a.offset ? end - a.offset : 0};
    }
    if (last->kind == PFD_ARROW_BITS)
        return (pfd_arrow_extent){words[PFD_WORD_BUFFER] + found.offset / 8, found.size > 0};
    return (pfd_arrow_extent){words[PFD_WORD_BUFFER] + found.offset * bytes, found.size * bytes};
}

/* A row is read with the offsets beside its own, which may be in another line. */
static void prefetch_offsets(const uint8_t *offsets, int64_t index, int64_t bytes)
{
    pfd_prefetch_line(offsets + (index - 1) * bytes);
    pfd_prefetch_line(offsets + (index + 2) * bytes);
}

void pfd_arrow_column_prefetch(const pfd_arrow_column *column, const pfd_arrow_space *space,
                               int64_t index)
{
    const pfd_arrow_level *level = column->has_dictionary ? &column->keys : &column->values;
    if (column->json) return;
    if (column->num_levels > column->num_outer) level = &column->levels[column->num_outer];
    const int64_t *words = space->words + level->word;
    const uint8_t *first = space->base + words[PFD_WORD_BUFFER];
    const int64_t validity = words[PFD_WORD_VALIDITY];
    if (validity) pfd_prefetch_line(space->base + validity + index / 8);
    switch (level->kind) {
    case PFD_ARROW_LISTS:
    case PFD_ARROW_BYTES: prefetch_offsets(first, index, 4); return;
    case PFD_ARROW_LARGE_LISTS:
    case PFD_ARROW_LARGE_BYTES: prefetch_offsets(first, index, 8); return;
    case PFD_ARROW_BITS: pfd_prefetch_line(first + index / 8); return;
    case PFD_ARROW_VIEWS: pfd_prefetch_line(first + index * 16); return;
    case PFD_ARROW_NUMBERS: pfd_prefetch_line(first + index * level->bytes); return;
    default: return; /* lists of a fixed size have no buffer */
    }
}
