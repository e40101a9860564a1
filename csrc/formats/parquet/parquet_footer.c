/* The footer of a Parquet file: structs in the compact protocol of Thrift.
 *
 * A struct is fields, and a byte of 0 after the last.  A field begins with a byte: its type, and by
 * how much its number is above the one before.  Integers are varints of zigzag numbers. */
#include "formats/parquet/parquet_footer.h"

#include "core/bytes.h"
#include "core/error.h"
#include "parse/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Thrift ---------------------------------------------------------------------------------- */

enum { YES = 1, NO, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT };

enum { MOST_DEPTH = 32 }; /* of structs in structs; the footer's own have 7 */

typedef struct field {
    int32_t id, type; /* 0: none yet */
} field;

typedef struct text {
    const uint8_t *data; /* NULL: it is not there */
    int64_t size;
} text;

/* The place in the footer.  After damage it stands at the end, so that all loops end. */
typedef struct cursor {
    pfd_wire_cursor in;
    const char *why; /* NULL: no damage so far */
    const uint8_t *wrong;
    int64_t group, leaf; /* that it is in; -1: none */
} cursor;

static void damaged(cursor *c, const uint8_t *at, const char *why)
{
    if (!c->why) {
        c->why = why;
        c->wrong = at;
    }
    c->in.at = c->in.end;
}

static const char unreadable[] = "no value of Thrift is here";

static uint64_t take_varint(cursor *c)
{
    uint64_t value = 0;
    if (!pfd_wire_varint(&c->in, &value)) damaged(c, c->in.at, unreadable);
    return value;
}

static int64_t take_zigzag(cursor *c)
{
    uint64_t value = take_varint(c);
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static int32_t take_byte(cursor *c)
{
    if (c->in.at < c->in.end) return *c->in.at++;
    damaged(c, c->in.at, "the footer ends inside a struct");
    return 0;
}

/* Goes to the next field of a struct; 0: there is none. */
static int32_t next_field(cursor *c, field *f)
{
    int32_t head = take_byte(c);
    if (head == 0) return 0;
    f->type = head & 15;
    f->id = head >> 4 ? f->id + (head >> 4) : (int16_t)take_zigzag(c);
    if (f->type == 0 || f->type > STRUCT) damaged(c, c->in.at, unreadable);
    return !c->why;
}

static int32_t has_type(cursor *c, const field *f, int32_t type)
{
    if (f->type != type) damaged(c, c->in.at, "a field has another type than Parquet says");
    return !c->why;
}

/* An integer that is not negative. */
static int64_t take_count(cursor *c, const field *f)
{
    const uint8_t *at = c->in.at;
    int64_t value = f->type >= I16 && f->type <= I64 ? take_zigzag(c) : -1;
    if (value < 0) damaged(c, at, "a field has no number that Parquet allows");
    return c->why ? 0 : value;
}

static text take_text(cursor *c, const field *f)
{
    if (!has_type(c, f, BINARY)) return (text){0};
    uint64_t size = take_varint(c);
    text out = {c->in.at, (int64_t)size};
    if (size > (uint64_t)(c->in.end - c->in.at)) {
        damaged(c, c->in.at, "a text ends after the footer");
        return (text){0};
    }
    c->in.at += size;
    return out;
}

/* The number of items of a list, and their type: each item has a byte at least. */
static int64_t take_list(cursor *c, int32_t *type)
{
    int32_t head = take_byte(c);
    uint64_t n = head >> 4 == 15 ? take_varint(c) : (uint64_t)head >> 4;
    *type = head & 15;
    if (n > (uint64_t)(c->in.end - c->in.at)) damaged(c, c->in.at, "a list ends after the footer");
    return c->why ? 0 : (int64_t)n;
}

static int64_t take_structs(cursor *c, const field *f)
{
    int32_t type = 0;
    if (!has_type(c, f, LIST)) return 0;
    int64_t n = take_list(c, &type);
    if (n > 0 && type != STRUCT) damaged(c, c->in.at, "a list has no structs, as Parquet says");
    return c->why ? 0 : n;
}

static void pass(cursor *c, int32_t type, int32_t is_item, int32_t depth);

static void pass_items(cursor *c, int32_t type, int32_t depth)
{
    int32_t item = 0, value = 0;
    int64_t n;
    if (type == MAP) {
        n = (int64_t)take_varint(c);
        int32_t both = n ? take_byte(c) : 0;
        item = both >> 4;
        value = both & 15;
    } else {
        n = take_list(c, &item);
    }
    for (int64_t i = 0; i < n && !c->why; i++) {
        pass(c, item, 1, depth);
        if (type == MAP) pass(c, value, 1, depth);
    }
}

/* Passes over a value. */
static void pass(cursor *c, int32_t type, int32_t is_item, int32_t depth)
{
    field f = {0};
    if (depth == MOST_DEPTH) damaged(c, c->in.at, "structs are nested too deep");
    if (c->why) return;
    switch (type) {
    case YES:
    case NO: if (is_item) (void)take_byte(c); return;
    case BYTE: (void)take_byte(c); return;
    case I16:
    case I32:
    case I64: (void)take_varint(c); return;
    case DOUBLE:
        if (c->in.end - c->in.at < 8) damaged(c, c->in.at, unreadable);
        else c->in.at += 8;
        return;
    case BINARY: (void)take_text(c, &(field){.type = BINARY}); return;
    case LIST:
    case SET:
    case MAP: pass_items(c, type, depth + 1); return;
    case STRUCT:
        while (next_field(c, &f)) pass(c, f.type, 0, depth + 1);
        return;
    default: damaged(c, c->in.at, unreadable);
    }
}

static void pass_field(cursor *c, const field *f)
{
    pass(c, f->type, 0, 0);
}

/* ---- The schema ------------------------------------------------------------------------------ */

typedef struct reading {
    const pfd_host *host;
    const pfd_file *file;
    int64_t begin; /* of the footer, in the file */
    cursor c;
    cursor schema, groups, orders; /* where these fields begin; zeroed: they are not there */
    int64_t num_rows;
    pfd_parquet_footer *out;
} reading;

enum { BOOLEAN, INT32, INT64, INT96, FLOAT, FLOATING_DOUBLE, BYTE_ARRAY, FIXED_BYTES, NUM_TYPES };

static uint8_t decimal_form(uint8_t stored)
{
    return stored == PFD_BOUND_BYTES ? PFD_BOUND_BIG_ENDIAN : stored;
}

static uint8_t unsigned_form(uint8_t stored)
{
    return stored == PFD_BOUND_INT64 ? PFD_BOUND_UINT64 : PFD_BOUND_UINT32;
}

/* The scale of a decimal.  No decimal of Arrow has more digits, and a wrong one would make bounds
 * that leave out row groups. */
static int32_t take_scale(cursor *c, const field *f)
{
    enum { MOST_DIGITS = 76 };
    const uint8_t *at = c->in.at;
    int64_t scale = take_count(c, f);
    if (scale > MOST_DIGITS) damaged(c, at, "a decimal has more than 76 digits after the point");
    return c->why ? 0 : (int32_t)scale;
}

/* The form of the bounds of a leaf with a converted type, the older of two ways to say it. */
static uint8_t converted_form(int64_t type, uint8_t stored)
{
    enum { UTF8 = 0, ENUM = 4, DECIMAL, UINT_8 = 11, UINT_64 = 14, INT_64 = 18, JSON, BSON };
    if (type == UTF8 || type == ENUM || type == JSON || type == BSON) return stored;
    if (type == DECIMAL) return decimal_form(stored);
    if (type >= UINT_8 && type <= UINT_64) return unsigned_form(stored);
    return type > UINT_64 && type <= INT_64 ? stored : PFD_BOUND_NONE;
}

/* The form with a logical type, which is a union of structs. */
static uint8_t take_logical(cursor *c, uint8_t stored, int32_t *scale)
{
    enum { STRING = 1, ENUM = 4, DECIMAL, INTEGER = 10, JSON = 12, BSON, UUID, HALF };
    field f = {0}, inner;
    uint8_t form = PFD_BOUND_NONE;
    while (next_field(c, &f)) {
        int32_t is_unsigned = 0;
        inner = (field){0};
        if (!has_type(c, &f, STRUCT)) return PFD_BOUND_NONE;
        while (next_field(c, &inner)) {
            if (f.id == DECIMAL && inner.id == 1) *scale = take_scale(c, &inner);
            else pass_field(c, &inner);
            if (f.id == INTEGER && inner.id == 2) is_unsigned = inner.type == NO;
        }
        if (f.id == STRING || f.id == ENUM || f.id == JSON || f.id == BSON || f.id == UUID)
            form = stored;
        else if (f.id == DECIMAL) form = decimal_form(stored);
        else if (f.id == INTEGER) form = is_unsigned ? unsigned_form(stored) : stored;
        else if (f.id == HALF) form = PFD_BOUND_FLOAT16;
    }
    return form;
}

/* Reads an element of the schema; 0: it is no leaf. */
static int32_t take_element(cursor *c, pfd_row_group_leaf *out)
{
    static const uint8_t stored[NUM_TYPES] = {
        PFD_BOUND_BOOL,    PFD_BOUND_INT32,   PFD_BOUND_INT64, PFD_BOUND_NONE,
        PFD_BOUND_FLOAT32, PFD_BOUND_FLOAT64, PFD_BOUND_BYTES, PFD_BOUND_BYTES};
    int64_t type = -1;
    field f = {0};
    *out = (pfd_row_group_leaf){0};
    while (next_field(c, &f)) {
        if (f.id == 1) {
            const uint8_t *at = c->in.at;
            type = take_count(c, &f);
            if (type >= NUM_TYPES) damaged(c, at, "Parquet has no type of this number");
            else out->form = stored[type];
        } else if (f.id == 4) {
            text name = take_text(c, &f);
            out->name = (const char *)name.data;
            out->name_size = name.size;
        } else if (f.id == 6) out->form = converted_form(take_count(c, &f), out->form);
        else if (f.id == 7) out->scale = take_scale(c, &f);
        else if (f.id == 10 && f.type == STRUCT)
            out->form = take_logical(c, type < 0 || c->why ? PFD_BOUND_NONE : stored[type],
                                     &out->scale);
        else pass_field(c, &f);
    }
    out->type = (int32_t)type;
    return type >= 0;
}

static pfd_status no_memory(const reading *r, pfd_error *err)
{
    return r->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the footer of a Parquet file");
}

static pfd_status fail(const reading *r, pfd_error *err)
{
    char place[200] = "the footer";
    const cursor *c = &r->c;
    if (c->group >= 0 && c->leaf >= 0) {
        const pfd_row_group_leaf *leaf = &r->out->leaves[c->leaf];
        int64_t size = leaf->name_size < 100 ? leaf->name_size : 100;
        (void)snprintf(place, sizeof place, "row group %" PRId64 ", column %.*s", c->group,
                       (int)size, leaf->name ? leaf->name : "");
    } else if (c->group >= 0) {
        (void)snprintf(place, sizeof place, "row group %" PRId64, c->group);
    }
    int64_t left = c->in.end - c->wrong;
    return r->host->fail_file(err, r->file, r->file->size - 8 - left, PFD_CORRUPT_DATA,
                              "%s: %s", place, c->why);
}

static pfd_status read_schema(reading *r, pfd_error *err)
{
    pfd_row_groups *found = &r->out->found;
    field list = {.type = LIST};
    r->c = r->schema;
    int64_t n = take_structs(&r->c, &list);
    r->out->leaves = calloc((size_t)n + 1, sizeof *r->out->leaves);
    if (!r->out->leaves) return no_memory(r, err);
    for (int64_t i = 0; i < n && !r->c.why; i++)
        found->num_leaves += take_element(&r->c, &r->out->leaves[found->num_leaves]);
    found->leaves = r->out->leaves;
    return r->c.why ? fail(r, err) : PFD_OK;
}

/* Without an order of its values a column has no bounds in fields 5 and 6. */
static pfd_status read_orders(reading *r, pfd_error *err)
{
    enum { TYPE_ORDER = 1 };
    field list = {.type = LIST};
    if (!r->orders.in.at) return PFD_OK;
    r->c = r->orders;
    int64_t n = take_structs(&r->c, &list);
    for (int64_t i = 0; i < n && !r->c.why; i++) {
        field f = {0};
        while (next_field(&r->c, &f)) {
            if (f.id == TYPE_ORDER && i < r->out->found.num_leaves)
                r->out->leaves[i].is_ordered = 1;
            pass_field(&r->c, &f);
        }
    }
    return r->c.why ? fail(r, err) : PFD_OK;
}

/* ---- Row groups ------------------------------------------------------------------------------ */

/* Whether a bound has the bytes that its form says. */
static int32_t has_size(const text *bound, uint8_t form)
{
    static const uint8_t sizes[] = {
        [PFD_BOUND_BOOL] = 1,    [PFD_BOUND_INT32] = 4,   [PFD_BOUND_UINT32] = 4,
        [PFD_BOUND_INT64] = 8,   [PFD_BOUND_UINT64] = 8,  [PFD_BOUND_FLOAT16] = 2,
        [PFD_BOUND_FLOAT32] = 4, [PFD_BOUND_FLOAT64] = 8};
    if (form == PFD_BOUND_BYTES || !bound->data) return 1;
    return form == PFD_BOUND_BIG_ENDIAN ? bound->size > 0 : bound->size == sizes[form];
}

/* Whether older writers order the values of a form as Parquet does today. */
static int32_t was_ordered(uint8_t form)
{
    return form == PFD_BOUND_INT32 || form == PFD_BOUND_INT64 || form == PFD_BOUND_FLOAT32 ||
           form == PFD_BOUND_FLOAT64;
}

static void take_statistics(reading *r, pfd_row_group_leaf *leaf, pfd_row_group_bounds *out)
{
    cursor *c = &r->c;
    const uint8_t *at = c->in.at;
    text texts[7] = {0}; /* 1: max, 2: min, of older writers; 5: max, 6: min */
    field f = {0};
    while (next_field(c, &f)) {
        if (f.id == 3 && f.type == I64) leaf->has_nulls |= take_zigzag(c) > 0;
        else if (f.id > 0 && f.id < 7 && f.id != 4) texts[f.id] = take_text(c, &f);
        else pass_field(c, &f);
    }
    if (!out || leaf->form == PFD_BOUND_NONE) return;
    text least = texts[6], most = texts[5];
    if (!leaf->is_ordered) least = most = (text){0};
    if (!least.data && !most.data && was_ordered(leaf->form)) {
        least = texts[2];
        most = texts[1];
    }
    if (!has_size(&least, leaf->form) || !has_size(&most, leaf->form))
        damaged(c, at, "its least or greatest value has another size than the values");
    else if (least.data && most.data)
        *out = (pfd_row_group_bounds){least.data, most.data, least.size, most.size};
}

/* A place of pages in the file, before the footer. */
static int64_t take_place(reading *r, const field *f)
{
    const uint8_t *at = r->c.in.at;
    int64_t place = take_count(&r->c, f);
    if (place > r->begin) damaged(&r->c, at, "its pages are outside the file");
    return place;
}

static void take_column(reading *r, pfd_row_group *group, pfd_row_group_leaf *leaf,
                        pfd_row_group_bounds *bounds)
{
    cursor *c = &r->c;
    const uint8_t *at = c->in.at;
    int64_t type = -1, bytes = 0, pages = 0, dictionary = 0;
    field f = {0};
    while (next_field(c, &f)) {
        if (f.id == 1) type = take_count(c, &f);
        else if (f.id == 5) (void)take_count(c, &f);
        else if (f.id == 6) bytes = take_count(c, &f);
        else if (f.id == 7) (void)take_place(r, &f); /* the size of its pages */
        else if (f.id == 9) pages = take_place(r, &f);
        else if (f.id == 11) dictionary = take_place(r, &f);
        else if (f.id == 12 && has_type(c, &f, STRUCT)) take_statistics(r, leaf, bounds);
        else pass_field(c, &f);
    }
    if (type != leaf->type) damaged(c, at, "it has another type than in the schema");
    if (__builtin_add_overflow(leaf->bytes, bytes, &leaf->bytes))
        damaged(c, at, "it has more bytes than a file can have");
    if (c->leaf == 0)
        group->offset = dictionary > 0 && dictionary < pages ? dictionary : pages;
}

/* Reads a column in a row group: a struct with the metadata inside, unless they are encrypted. */
static void take_chunk(reading *r, pfd_row_group *group, pfd_row_group_leaf *leaf,
                       pfd_row_group_bounds *bounds)
{
    enum { METADATA = 3, ENCRYPTION = 8 };
    cursor *c = &r->c;
    int32_t is_known = 0;
    const uint8_t *at = c->in.at;
    field f = {0};
    while (next_field(c, &f)) {
        is_known |= f.id == METADATA || f.id == ENCRYPTION;
        if (f.id == METADATA && has_type(c, &f, STRUCT)) take_column(r, group, leaf, bounds);
        else pass_field(c, &f);
    }
    if (!is_known) damaged(c, at, "it has no metadata");
}

static void take_group(reading *r, pfd_row_group *group, pfd_row_group_bounds *bounds)
{
    enum { COLUMNS = 1, ROWS = 3 };
    cursor *c = &r->c;
    pfd_parquet_footer *out = r->out;
    int64_t num_leaves = out->found.num_leaves, n = 0;
    const uint8_t *at = c->in.at;
    field f = {0};
    while (next_field(c, &f)) {
        if (f.id == ROWS) group->rows = take_count(c, &f);
        else if (f.id != COLUMNS) pass_field(c, &f);
        else {
            n = take_structs(c, &f);
            if (n != num_leaves) break;
            for (c->leaf = 0; c->leaf < n && !c->why; c->leaf++)
                take_chunk(r, group, &out->leaves[c->leaf], bounds ? &bounds[c->leaf] : NULL);
            if (!c->why) c->leaf = -1;
        }
    }
    if (n != num_leaves) damaged(c, at, "it does not have the columns of the schema");
    else if (c->leaf >= 0) c->leaf--; /* the one that is damaged */
}

static pfd_status read_groups(reading *r, int32_t wants_bounds, pfd_error *err)
{
    pfd_parquet_footer *out = r->out;
    pfd_row_groups *found = &out->found;
    field list = {.type = LIST};
    int64_t rows = 0, num_leaves = found->num_leaves;
    r->c = r->groups;
    int64_t n = take_structs(&r->c, &list);
    if (n > 0 && num_leaves > (r->c.in.end - r->c.in.at) / n) /* a column has a byte at least */
        damaged(&r->c, r->c.in.at, "the row groups end after the footer");
    if (r->c.why) return fail(r, err);
    out->groups = calloc((size_t)n + 1, sizeof *out->groups);
    if (wants_bounds) out->bounds = calloc((size_t)(n * num_leaves) + 1, sizeof *out->bounds);
    if (!out->groups || (wants_bounds && !out->bounds)) return no_memory(r, err);
    for (int64_t i = 0; i < n && !r->c.why; i++) {
        r->c.group = i;
        take_group(r, &out->groups[i], out->bounds ? out->bounds + i * num_leaves : NULL);
        if (!r->c.why && __builtin_add_overflow(rows, out->groups[i].rows, &rows))
            damaged(&r->c, r->c.in.at, "it has more rows than a file can have");
    }
    if (!r->c.why && rows != r->num_rows) {
        r->c.group = -1;
        damaged(&r->c, r->groups.in.at, "its row groups together do not have the number of rows "
                                        "that it states");
    }
    found->groups = out->groups;
    found->num_groups = n;
    found->bounds = out->bounds;
    return r->c.why ? fail(r, err) : PFD_OK;
}

/* ---- The footer ------------------------------------------------------------------------------ */

/* Finds the fields, which have to be read in another order than theirs. */
static pfd_status find_fields(reading *r, pfd_error *err)
{
    enum { SCHEMA = 2, ROWS = 3, GROUPS = 4, ORDERS = 7 };
    cursor *c = &r->c;
    field f = {0};
    while (next_field(c, &f)) {
        cursor here = *c;
        if (f.id == ROWS) {
            r->num_rows = take_count(c, &f);
            continue;
        }
        pass_field(c, &f);
        if ((f.id == SCHEMA || f.id == GROUPS || f.id == ORDERS) && has_type(c, &f, LIST))
            *(f.id == SCHEMA ? &r->schema : f.id == GROUPS ? &r->groups : &r->orders) = here;
    }
    if (!r->schema.in.at || !r->groups.in.at)
        damaged(c, c->in.at, "it has no schema or no row groups");
    return c->why ? fail(r, err) : PFD_OK;
}

pfd_status pfd_parquet_footer_read(const pfd_host *host, const pfd_file *file,
                                   pfd_scratch *scratch, int32_t wants_bounds,
                                   pfd_parquet_footer *out, pfd_error *err)
{
    enum { END = 8, BEGIN = 4 }; /* the size of the footer and PAR1; PAR1 */
    const uint8_t *data;
    *out = (pfd_parquet_footer){0};
    if (file->size < BEGIN + END)
        return host->fail_file(err, file, file->size, PFD_CORRUPT_DATA, "the file has no footer");
    PFD_TRY(host->read(file, file->size - END, END, scratch, &data, err));
    int64_t size = pfd_load_le32(data), begin = file->size - END - size;
    if (begin < BEGIN)
        return host->fail_file(err, file, file->size - END, PFD_CORRUPT_DATA,
                               "the footer has %" PRId64 " bytes, as its end states, and the file "
                               "%" PRId64, size, file->size);
    PFD_TRY(host->read(file, begin, size, scratch, &data, err));
    reading r = {.host = host, .file = file, .begin = begin, .out = out,
                 .c = {.in = {data, data + size}, .group = -1, .leaf = -1}};
    PFD_TRY(find_fields(&r, err));
    PFD_TRY(read_schema(&r, err));
    PFD_TRY(read_orders(&r, err));
    return read_groups(&r, wants_bounds, err);
}

void pfd_parquet_footer_free(pfd_parquet_footer *footer)
{
    free(footer->groups);
    free(footer->leaves);
    free(footer->bounds);
    *footer = (pfd_parquet_footer){0};
}
