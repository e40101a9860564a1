/* Reads the wanted values of JSON objects, in one pass over each object, into rows of the
 * outputs. */
#include "core/bytes.h"
#include "core/error.h"
#include "core/convert.h"
#include "core/rows.h"
#include "core/scratch.h"
#include "formats/json/json_fields.h"
#include "parse/json.h"
#include "parse/number_text.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Numbers --------------------------------------------------------------------------------- */

int32_t pfd_json_number(int32_t dtype, const uint8_t *text, int64_t size, uint8_t *out)
{
    if (!pfd_dtype_is_float(dtype))
        return pfd_parse_integer(dtype, text, size, out);
    double value = 0;
    (void)pfd_parse_double((const char *)text, size, &value);
    float narrow = (float)value;
    if (isinf(dtype == PFD_FLOAT32 ? (double)narrow : value)) return PFD_OUT_OF_RANGE;
    if (dtype == PFD_FLOAT32) memcpy(out, &narrow, sizeof narrow);
    else memcpy(out, &value, sizeof value);
    return PFD_PARSED;
}

/* ---- A record -------------------------------------------------------------------------------- */

/* What was found for a field.  Only the last value of a repeated name counts, so that a fault is
 * reported after the whole record is read. */
enum { MISSING, IS_NULL, FOUND, WRONG_KIND, NOT_WHOLE, BEYOND, WRONG_LENGTH, UNEVEN };

typedef struct slot {
    int32_t state;
    int32_t is_item;         /* WRONG_KIND: of an item, and not of an array */
    int64_t at;              /* of the value, in the record */
    int64_t length, expected; /* WRONG_LENGTH, UNEVEN: items of an array */
} slot;

typedef struct reader {
    const pfd_json_fields *fields;
    const pfd_compute_args *args;
    int64_t row;
    const uint8_t *text; /* of the row: the record, or a copy in UTF-8 */
    int64_t size;
    slot *slots;   /* of each field */
    int64_t *seen; /* of each node: row + 1 if the record has it */
    uint8_t *items; /* of the row of a ragged output, while its size is not known */
    int64_t room;   /* bytes */
    char *strings;  /* where the next string goes */
    int64_t strings_room;
    int32_t strings_last; /* the room lasts until the batch is complete */
    int32_t is_out_of_memory;
    int32_t is_wide; /* as cursors are here */
    pfd_json_lead trail[PFD_JSON_TRAIL]; /* of the row before: most lines have the same names */
} reader;

static void *take(reader *r, int64_t bytes)
{
    void *memory = r->args->host->alloc(r->args->scratch, bytes > 0 ? bytes : 1);
    if (!memory) r->is_out_of_memory = 1;
    return memory;
}

/* pfd_json_begin(), inline: copying the cursor that a call returns takes longer than some members.
 */
static inline pfd_json begin_row(const reader *r)
{
    return (pfd_json){.data = r->text,
                      .size = r->size,
                      .keeps_bytes = r->fields->invalid_utf8 == PFD_JSON_KEEPS_BYTES,
                      .is_wide = r->is_wide};
}

/* Notes what is wrong with a value; returns 0. */
static int32_t refuse(slot *s, int32_t state, int64_t at)
{
    s->state = state;
    s->at = at;
    return 0;
}

/* ---- Arrays and numbers ---------------------------------------------------------------------- */

/* Where the items of a field go. */
typedef struct sink {
    const pfd_json_field *field;
    slot *slot;
    uint8_t *base; /* NULL: the items of the reader, which grow */
    int64_t n;     /* items written */
    int64_t shape[PFD_MAX_DIMS]; /* -1: not known yet */
} sink;

/* Memory for the next item of a ragged row; NULL: out of memory. */
static uint8_t *grow(reader *r, const sink *to)
{
    int64_t bytes = (to->n + 1) * to->field->item_bytes;
    if (bytes > r->room) {
        int64_t room = bytes < 512 ? 1024 : 2 * bytes;
        uint8_t *items = take(r, room);
        if (!items) return NULL;
        if (r->room > 0) memcpy(items, r->items, (size_t)r->room);
        r->items = items;
        r->room = room;
    }
    return r->items + bytes - to->field->item_bytes;
}

static int32_t read_item(reader *r, pfd_json *json, sink *to)
{
    const pfd_json_field *field = to->field;
    int32_t dtype = field->spec.type.dtype, found;
    uint8_t *out = to->base ? to->base + to->n * field->item_bytes : grow(r, to);
    if (!out) return 0;
    to->n++;
    if (dtype == PFD_BOOL) {
        *out = (uint8_t)pfd_json_is(json, 't');
        if (*out || pfd_json_is(json, 'f')) return pfd_json_skip(json);
    } else if (pfd_json_is(json, 0)) {
        int64_t begin = json->at;
        if (!pfd_json_skip(json)) return 0;
        found = pfd_json_number(dtype, json->data + begin, json->at - begin, out);
        if (found == PFD_PARSED) return 1;
        return refuse(to->slot, found == PFD_OUT_OF_RANGE ? BEYOND : NOT_WHOLE, begin);
    }
    to->slot->is_item = 1;
    return refuse(to->slot, WRONG_KIND, json->at);
}

/* Counts the rest of the items of an array that is too long. */
static int64_t count_rest(pfd_json *json)
{
    int64_t n = 0;
    do {
        (void)pfd_json_skip(json);
        n++;
    } while (pfd_json_element(json));
    return n;
}

static int32_t refuse_length(sink *to, int32_t d, int64_t length, int64_t at)
{
    to->slot->length = length;
    to->slot->expected = to->shape[d];
    return refuse(to->slot, to->field->spec.type.shape[d] < 0 ? UNEVEN : WRONG_LENGTH, at);
}

/* Reads dimension d and the dimensions in it; 0: the slot says why not, or the JSON is wrong. */
static int32_t read_array(reader *r, pfd_json *json, sink *to, int32_t d)
{
    int32_t ndim = to->field->spec.type.ndim;
    int64_t n = 0;
    if (d == ndim) return read_item(r, json, to);
    to->slot->is_item = 0;
    if (!pfd_json_is(json, '[')) return refuse(to->slot, WRONG_KIND, json->at);
    int64_t begin = json->at;
    if (!pfd_json_enter(json, '[')) return 0;
    for (; pfd_json_element(json); n++) {
        if (to->shape[d] == n) return refuse_length(to, d, n + count_rest(json), begin);
        if (!(d + 1 == ndim ? read_item(r, json, to) : read_array(r, json, to, d + 1))) return 0;
    }
    if (json->problem) return 0;
    if (to->shape[d] >= 0 && n != to->shape[d]) return refuse_length(to, d, n, begin);
    to->shape[d] = n;
    return 1;
}

/* Makes the ragged row of the items that were read. */
static int32_t keep_items(reader *r, const sink *to, pfd_ragged_row *row)
{
    const pfd_json_field *field = to->field;
    int32_t ndim = field->spec.type.ndim;
    int64_t bytes = to->n * field->item_bytes, *shape = NULL;
    uint8_t *items = take(r, bytes);
    if (!items) return 0;
    if (bytes > 0) memcpy(items, r->items, (size_t)bytes);
    if (ndim > 1) {
        shape = take(r, ndim * (int64_t)sizeof *shape);
        if (!shape) return 0;
        for (int32_t d = 0; d < ndim; d++) shape[d] = to->shape[d] < 0 ? 0 : to->shape[d];
    }
    *row = (pfd_ragged_row){items, to->n, shape};
    return 1;
}

static void read_numbers(reader *r, int32_t number, pfd_json *json)
{
    const pfd_json_field *field = &r->fields->fields[number];
    const pfd_json_mark begin = pfd_json_here(json);
    pfd_tensor *out = r->args->outputs[number];
    sink to;
    to.field = field;
    to.slot = &r->slots[number];
    to.base = field->is_ragged ? NULL : out->data + r->row * out->row_bytes;
    to.n = 0;
    if (field->spec.type.ndim > 0) memcpy(to.shape, field->spec.type.shape, sizeof to.shape);
    to.slot->state = FOUND;
    int32_t is_read = read_array(r, json, &to, 0);
    if (is_read && field->is_ragged) (void)keep_items(r, &to, &out->rows[r->row]);
    if (is_read || r->is_out_of_memory) return;
    pfd_json_back(json, begin); /* the rest of the value is checked too */
    (void)pfd_json_skip(json);
}

/* ---- Strings, and values of any kind --------------------------------------------------------- */

/* Room for all strings after json->at, as none becomes longer.  Those of short records lie one
 * after the other in memory that lasts until the batch is complete. */
static char *room_for(reader *r, const pfd_json *json)
{
    enum { ROOM = 16 * 1024, SHORT = ROOM / 4 };
    int64_t most = json->size - json->at;
    if (most > r->strings_room) {
        pfd_scratch *scratch = r->args->scratch;
        r->strings_last = most <= SHORT;
        r->strings_room = r->strings_last ? ROOM : most;
        r->strings = pfd_scratch_alloc(r->strings_last ? pfd_scratch_lasting(scratch) : scratch,
                                       r->strings_room);
        if (r->strings) return r->strings;
        r->strings_room = 0;
        r->is_out_of_memory = 1;
    }
    return r->strings;
}

static void read_string(reader *r, int32_t number, pfd_json *json, int32_t kind)
{
    slot *s = &r->slots[number];
    pfd_json_text text;
    if (kind != '"') {
        (void)refuse(s, WRONG_KIND, json->at);
        (void)pfd_json_skip(json);
        return;
    }
    char *copy = room_for(r, json);
    if (!copy || !pfd_json_string_copy(json, copy, &text)) return;
    s->state = FOUND;
    pfd_ragged_row *row = &r->args->outputs[number]->rows[r->row];
    *row = (pfd_ragged_row){.data = text.data, .num_elements = text.size};
    if (r->strings_last) row->data = copy; /* the record leaves the cache before rows are joined */
    if (row->data != copy) return;
    r->strings += text.size;
    r->strings_room -= text.size;
}

static void read_any(reader *r, int32_t number, pfd_json *json)
{
    int64_t begin = json->at;
    if (!pfd_json_skip(json)) return;
    r->slots[number].state = FOUND;
    r->args->outputs[number]->rows[r->row] =
        (pfd_ragged_row){.data = json->data + begin, .num_elements = json->at - begin};
}

static void read_field(reader *r, int32_t number, pfd_json *json)
{
    int32_t wanted = r->fields->fields[number].kind, kind = pfd_json_kind(json);
    slot *s = &r->slots[number];
    s->at = json->at;
    if (wanted == PFD_JSON_ANY) {
        read_any(r, number, json);
    } else if (kind == 'n') {
        s->state = IS_NULL;
        (void)pfd_json_skip(json);
    } else if (wanted == PFD_JSON_STRING) {
        read_string(r, number, json, kind);
    } else {
        read_numbers(r, number, json);
    }
}

/* ---- The tree -------------------------------------------------------------------------------- */

/* Finds the child with this name, beginning at the expected child, since most lines have their
 * members in one order. -1: the member is not wanted. */
static int32_t find_member(const reader *r, const pfd_json_node *parent, const pfd_json_text *key,
                           int32_t expected)
{
    const pfd_json_node *nodes = r->fields->nodes;
    for (int32_t pass = 0, i = expected; pass < 2; pass++, i = parent->child) {
        for (; i >= 0 && (pass == 0 || i != expected); i = nodes[i].sibling) {
            if (!nodes[i].name) continue;
            if (key->has_escapes ? pfd_json_equals(key, nodes[i].name)
                                 : key->size == nodes[i].size &&
                                       pfd_is_same(key->data, (const uint8_t *)nodes[i].name,
                                                   key->size))
                return i;
        }
    }
    return -1;
}

/* find_member() of a node.  The key's lead keeps the answer: the node above BITS, the child + 2
 * below, as 0 means not asked and 1 that the member is not wanted. */
static int32_t child_of(reader *r, int32_t node, const pfd_json_text *key, int32_t expected)
{
    enum { BITS = 15, MOST = 1 << BITS };
    int32_t *asked = key->lead ? &r->trail[key->lead - 1].asked : NULL;
    if (asked && *asked && *asked >> BITS == node) return (*asked & (MOST - 1)) - 2;
    int32_t child = find_member(r, &r->fields->nodes[node], key, expected);
    if (asked && r->fields->num_nodes < MOST - 2) *asked = node << BITS | (child + 2);
    return child;
}

static int32_t find_element(const reader *r, const pfd_json_node *parent, int64_t number)
{
    const pfd_json_node *nodes = r->fields->nodes;
    for (int32_t i = parent->child; i >= 0; i = nodes[i].sibling)
        if (!nodes[i].name && nodes[i].size == number) return i;
    return -1;
}

static void read_node(reader *r, int32_t number, pfd_json *json);

static void read_members(reader *r, int32_t number, pfd_json *json)
{
    const pfd_json_node *node = &r->fields->nodes[number];
    pfd_json_text key;
    int32_t expected = node->child;
    (void)pfd_json_enter(json, '{');
    while (pfd_json_member_of(json, node->names, &key)) {
        int32_t child = child_of(r, number, &key, expected);
        if (child < 0) {
            (void)pfd_json_skip(json);
            continue;
        }
        read_node(r, child, json);
        expected = r->fields->nodes[child].sibling;
    }
}

static void read_elements(reader *r, const pfd_json_node *node, pfd_json *json)
{
    (void)pfd_json_enter(json, '[');
    for (int64_t i = 0; pfd_json_element(json); i++) {
        int32_t child = find_element(r, node, i);
        if (child < 0) (void)pfd_json_skip(json);
        else read_node(r, child, json);
    }
}

/* Drops what an earlier value of the same name gave: the last value counts. */
static void forget(reader *r, const pfd_json_node *node)
{
    for (int32_t i = node->first; i < node->end; i++)
        r->slots[r->fields->order[i]].state = MISSING;
}

/* Reads the value at a node: for each field that ends at the node, and then for fields below. */
static void read_node(reader *r, int32_t number, pfd_json *json)
{
    const pfd_json_node *node = &r->fields->nodes[number];
    if (r->seen[number] == r->row + 1) forget(r, node);
    r->seen[number] = r->row + 1;
    if (node->child < 0 && r->fields->fields[node->field].next < 0) {
        read_field(r, node->field, json);
        return;
    }
    const pfd_json_mark begin = pfd_json_here(json);
    for (int32_t i = node->field; i >= 0 && !json->problem; i = r->fields->fields[i].next) {
        pfd_json_back(json, begin);
        read_field(r, i, json);
    }
    if (node->child < 0 || json->problem) return;
    pfd_json_back(json, begin);
    int32_t kind = pfd_json_kind(json);
    if (kind == '{') read_members(r, number, json);
    else if (kind == '[') read_elements(r, node, json);
    else (void)pfd_json_skip(json);
}

/* ---- Bytes that are not UTF-8 ---------------------------------------------------------------- */

/* How many bytes at p U+FFFD replaces: those that begin a character and are not one, or one. */
static int64_t wrong_length(const uint8_t *p, int64_t left)
{
    int64_t size = p[0] < 0xc2 || p[0] > 0xf4 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4, n = 1;
    uint8_t least = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t most = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    for (; n < size && n < left && p[n] >= least && p[n] <= most; n++) {
        least = 0x80;
        most = 0xbf;
    }
    return n;
}

/* Writes the character at `from`, or U+FFFD, to out + *to, and moves *to; NULL: only moves.
 * Returns how many bytes of the record that were. */
static int64_t replace_one(const pfd_record *record, int64_t from, uint8_t *out, int64_t *to)
{
    static const uint8_t replacement[3] = {0xef, 0xbf, 0xbd};
    const uint8_t *p = record->data + from;
    int64_t length = pfd_utf8_length(p, record->size - from), size = length ? length : 3;
    if (out) memcpy(out + *to, length ? p : replacement, (size_t)size);
    *to += size;
    return length ? length : wrong_length(p, record->size - from);
}

/* Makes the row's text a copy of the record in UTF-8; 0: the record is UTF-8, or no memory. */
static int32_t replace_bytes(reader *r)
{
    const pfd_record *record = &r->args->records[r->row];
    if (pfd_is_utf8(record->data, record->size)) return 0;
    uint8_t *copy = take(r, 3 * record->size);
    if (!copy) return 0;
    r->text = copy;
    r->size = 0;
    for (int64_t from = 0; from < record->size;) from += replace_one(record, from, copy, &r->size);
    return 1;
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* Where a byte of the row's text is in the record. */
static int64_t place_of(const reader *r, int64_t at)
{
    const pfd_record *record = &r->args->records[r->row];
    if (r->text == record->data) return at;
    int64_t from = 0, to = 0;
    while (to < at && from < record->size) from += replace_one(record, from, NULL, &to);
    return from;
}

/* "column 5"; of an element, whose line begins somewhere before it, "byte 5 of the element". */
static const char *column_of(const reader *r, int64_t at, char *out, size_t capacity)
{
    const char *words = r->fields->is_array ? "byte %" PRId64 " of the element" : "column %" PRId64;
    (void)snprintf(out, capacity, words, at + 1);
    return out;
}

static pfd_status fail_json(const reader *r, const pfd_json *json, pfd_error *err)
{
    const char *record = r->fields->is_array ? "element" : "line";
    char found[256], place[64];
    (void)snprintf(found, sizeof found, "the end of the %s", record);
    int64_t at = place_of(r, json->at);
    if (json->at < json->size)
        (void)pfd_quote_bytes(r->args->records[r->row].data + at, 1, found, sizeof found);
    return r->args->host->fail_row(err, r->row, at, PFD_CORRUPT_DATA,
                                   "%s: %s, found %s; %s %s is one JSON object",
                                   column_of(r, at, place, sizeof place), json->problem, found,
                                   r->fields->is_array ? "an" : "a", record);
}

static const char *kind_of(const pfd_json_field *field, int32_t is_item)
{
    int32_t dtype = field->spec.type.dtype;
    if (field->kind == PFD_JSON_STRING) return "a string";
    if (!is_item) return "an array";
    return dtype == PFD_BOOL           ? "true or false"
           : pfd_dtype_is_float(dtype) ? "a number"
                                       : "an integer";
}

static const char *default_of(const pfd_json_field *field)
{
    int32_t is_bool = field->spec.type.dtype == PFD_BOOL;
    return field->kind == PFD_JSON_ANY                             ? "=null"
           : field->kind == PFD_JSON_STRING || field->is_ragged ? "="
           : is_bool                                               ? "=false"
                                                                   : "=0";
}

/* Says what is wrong with the value. */
static void describe(const pfd_json_field *field, const slot *s, char *out, size_t capacity)
{
    const char *dtype = pfd_dtype_name(field->spec.type.dtype);
    const char *limits = pfd_dtype_limits(field->spec.type.dtype);
    int32_t is_float = pfd_dtype_is_float(field->spec.type.dtype);
    if (s->state == WRONG_KIND)
        (void)snprintf(out, capacity, "expected %s%s", kind_of(field, s->is_item),
                       field->kind == PFD_JSON_STRING ? " (the type json takes any value)" : "");
    else if (s->state == NOT_WHOLE)
        (void)snprintf(out, capacity, "expected an integer, without fraction and exponent, for %s",
                       dtype);
    else if (s->state == BEYOND && is_float)
        (void)snprintf(out, capacity, "expected a number that is not too large for %s", dtype);
    else if (s->state == BEYOND)
        (void)snprintf(out, capacity, "expected an integer from %s, for %s", limits, dtype);
    else
        (void)snprintf(out, capacity, "expected %" PRId64 " items%s, and there are %" PRId64,
                       s->expected, s->state == UNEVEN ? " as in the array before" : "",
                       s->length);
}

static pfd_status fail_value(const reader *r, const pfd_json_field *field, const slot *s,
                             pfd_error *err)
{
    char found[256], problem[256], place[64];
    pfd_json json = begin_row(r);
    int64_t at = place_of(r, s->at);
    json.at = s->at;
    (void)pfd_json_skip(&json);
    describe(field, s, problem, sizeof problem);
    (void)r->args->host->fail_row(
        err, r->row, at, PFD_CORRUPT_DATA, "%s: field '%.200s': %s, found %s",
        column_of(r, at, place, sizeof place), field->element, problem,
        pfd_quote_bytes(r->text + s->at, json.at - s->at, found, sizeof found));
    return pfd_error_set_attr(err, "fields");
}

static pfd_status fail_missing(const reader *r, const pfd_json_field *field, const slot *s,
                               pfd_error *err)
{
    int32_t is_null = s->state == IS_NULL;
    return r->args->host->fail_row(
        err, r->row, is_null ? place_of(r, s->at) : 0, PFD_CORRUPT_DATA,
        "field '%.200s': %s; a default, as in '%.200s%s', would replace it", field->element,
        is_null                ? "the value is null"
        : r->fields->is_array ? "the element has no such value"
                               : "the line has no such value", field->element,
        default_of(field));
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void write_default(const reader *r, int32_t number)
{
    const pfd_json_field *field = &r->fields->fields[number];
    const pfd_field_spec *spec = &field->spec;
    pfd_tensor *out = r->args->outputs[number];
    if (!field->is_ragged)
        pfd_fill(out->data + r->row * out->row_bytes, pfd_row_elements(&spec->type), field->fill,
                 field->item_bytes);
    else if (field->kind == PFD_JSON_NUMBERS)
        out->rows[r->row] = (pfd_ragged_row){0};
    else
        out->rows[r->row] = (pfd_ragged_row){spec->default_text, spec->default_size, NULL};
}

/* Writes the defaults of fields that the record lacks, and reports the first fault. */
static pfd_status finish_row(const reader *r, pfd_error *err)
{
    for (int32_t i = 0; i < r->fields->num_fields; i++) {
        const pfd_json_field *field = &r->fields->fields[i];
        const slot *s = &r->slots[i];
        if (s->state == FOUND) continue;
        if (s->state > FOUND) return fail_value(r, field, s, err);
        if (!field->spec.default_text) return fail_missing(r, field, s, err);
        write_default(r, i);
    }
    return PFD_OK;
}

static int32_t read_text(reader *r, pfd_json *json)
{
    json->trail = r->trail;
    forget(r, &r->fields->nodes[0]);
    read_members(r, 0, json);
    return pfd_json_end(json);
}

static pfd_status fail_memory(const reader *r, pfd_error *err)
{
    pfd_status status =
        r->args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the values of a line");
    return pfd_scratch_explain(pfd_scratch_lasting(r->args->scratch), status, err);
}

static pfd_status read_row(reader *r, pfd_error *err)
{
    r->text = r->args->records[r->row].data;
    r->size = r->args->records[r->row].size;
    pfd_json json = begin_row(r);
    if (!read_text(r, &json) && r->fields->invalid_utf8 == PFD_JSON_REPLACES_BYTES &&
        replace_bytes(r)) {
        json = begin_row(r);
        (void)read_text(r, &json);
    }
    if (r->is_out_of_memory) return fail_memory(r, err);
    if (json.problem) return fail_json(r, &json, err);
    return finish_row(r, err);
}

pfd_status pfd_json_rows(const pfd_json_fields *fields, const pfd_compute_args *args,
                         pfd_error *err)
{
    reader r = {.fields = fields, .args = args, .is_wide = pfd_json_begin(NULL, 0).is_wide};
    r.slots = take(&r, fields->num_fields * (int64_t)sizeof *r.slots);
    r.seen = take(&r, fields->num_nodes * (int64_t)sizeof *r.seen);
    if (!r.slots || !r.seen)
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for fields");
    memset(r.slots, 0, (size_t)fields->num_fields * sizeof *r.slots);
    memset(r.seen, 0, (size_t)fields->num_nodes * sizeof *r.seen);
    for (; r.row < args->num_rows; r.row++) PFD_TRY(read_row(&r, err));
    pfd_scratch_rows_last(args->scratch); /* in records, defaults or the scratch */
    return PFD_OK;
}
