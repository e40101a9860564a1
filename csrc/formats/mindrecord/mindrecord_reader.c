/* MindRecordReader: rows of MindRecord shards, MindSpore's own format, versions 2.0 and 3.0.
 *
 * A shard is a JSON header, raw pages (the scalar fields of the rows) and blob pages (all other
 * fields).  Its .db file, an SQLite index, is not needed. */
#include "core/bytes.h"
#include "core/error.h"
#include "core/op_shorthand.h"
#include "core/scratch.h"
#include "core/search.h"
#include "files/file_hint.h"
#include "files/file_read.h"
#include "formats/mindrecord/msgpack.h"
#include "index/record_index.h"
#include "parse/json.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/fields.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The header of a shard, which is JSON ---------------------------------------------------- */

/* It lists the fields of the rows, the pages of the file with the rows in each, and the names of
 * all shards of the set.  Parsing checks that the pages agree with each other. */

#define PFD_MINDRECORD_MOST_HEADER_BYTES (128ll << 20)

#define PFD_MINDRECORD_STRING 101 /* types of fields besides the dtypes */
#define PFD_MINDRECORD_BYTES 102

typedef struct mindrecord_field {
    const char *name;  /* ends with a 0 */
    int64_t name_size;
    int32_t type;      /* PFD_INT32, INT64, FLOAT32, FLOAT64, or a type above */
    int32_t blob;      /* its place among the values of the blob; -1: it is in the raw row */
    int32_t is_array;
    int32_t ndim;
    int64_t shape[PFD_MAX_DIMS]; /* -1: it varies; at most one dimension does */
} mindrecord_field;

typedef struct mindrecord_page {
    int64_t number, type_number; /* number of its slot in the file, and among pages of its type */
    int64_t first_row, end_row;  /* of blob pages */
    int64_t used;                /* bytes of the slot */
    int64_t first_group, num_groups; /* of raw pages, in mindrecord_header.groups */
    int32_t is_raw;
    int32_t reserved;
} mindrecord_page;

/* The raw rows for the rows of one blob page. */
typedef struct mindrecord_group {
    int64_t blob_page; /* type_number */
    int64_t offset;    /* in the raw page */
} mindrecord_group;

typedef struct mindrecord_header {
    int64_t header_size, page_size, shard, num_shards, num_rows;
    int32_t packs_integers; /* version 3.0 */
    int32_t reserved;
    mindrecord_field *fields; /* owned, as all below */
    int64_t num_fields, num_blobs;
    mindrecord_page *pages; /* blob pages by type_number, then raw pages by type_number */
    int64_t num_pages, num_blob_pages;
    mindrecord_group *groups;
    int64_t num_groups;
    char *text;         /* names of fields */
    pfd_json addresses; /* a cursor before the array with the names of all shards */
} mindrecord_header;

enum { MOST_FIELDS = 4096, MOST_PAGES = 1 << 24 };

/* Cursors at the members of the header, which may come in any order. */
typedef struct header_members {
    pfd_json pages, schema, version;
} header_members;

/* ---- Fields ---------------------------------------------------------------------------------- */

static int32_t parse_type(pfd_json *json, mindrecord_field *field)
{
    static const struct {
        const char *name;
        int32_t type;
    } types[] = {{"int32", PFD_INT32},     {"int64", PFD_INT64},
                 {"float32", PFD_FLOAT32}, {"float64", PFD_FLOAT64},
                 {"bytes", PFD_MINDRECORD_BYTES}, {"string", PFD_MINDRECORD_STRING}};
    pfd_json_text text;
    if (!pfd_json_string(json, &text)) return 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (pfd_json_equals(&text, types[i].name)) field->type = types[i].type;
    return field->type || pfd_json_refuse(json, "expected a type of MindRecord before here: int32, "
                                                "int64, float32, float64, string or bytes");
}

static int32_t parse_shape(pfd_json *json, mindrecord_field *field)
{
    int32_t varying = 0;
    field->is_array = 1;
    pfd_json_enter(json, '[');
    while (pfd_json_element(json)) {
        int64_t dim = 0;
        if (!pfd_json_int64(json, &dim)) break;
        varying += dim == -1;
        if (field->ndim == PFD_MAX_DIMS || dim < -1 || dim == 0 || dim > INT32_MAX || varying > 1)
            return pfd_json_refuse(json, "expected at most 8 dimensions, positive or one of -1");
        field->shape[field->ndim++] = dim;
    }
    if (!json->problem && field->ndim == 0)
        pfd_json_refuse(json, "expected a shape with at least one dimension");
    return !json->problem;
}

static int32_t parse_field(pfd_json *json, mindrecord_field *field)
{
    pfd_json_text key;
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "type")) parse_type(json, field);
        else if (pfd_json_equals(&key, "shape")) parse_shape(json, field);
        else pfd_json_skip(json);
    }
    if (!json->problem && field->type == 0)
        pfd_json_refuse(json, "expected a field with a type before here");
    if (field->is_array && field->type >= PFD_MINDRECORD_STRING)
        pfd_json_refuse(json, "expected an array of numbers, not of string or bytes, before here");
    return !json->problem;
}

/* Counts the values of an array or object, and the bytes of their names. */
static int64_t count(pfd_json json, char bracket, int64_t *text_bytes)
{
    pfd_json_text text = {.size = 0};
    int64_t n = 0;
    pfd_json_enter(&json, bracket);
    while (bracket == '{' ? pfd_json_member(&json, &text) : pfd_json_element(&json)) {
        pfd_json_skip(&json);
        *text_bytes += text.size + 1;
        n++;
    }
    return json.problem ? -1 : n;
}

/* Sets the place of each field in the blob. */
static int32_t parse_blobs(pfd_json *json, mindrecord_header *out)
{
    pfd_json_text name;
    pfd_json_enter(json, '[');
    while (pfd_json_element(json)) {
        if (!pfd_json_string(json, &name)) break;
        int64_t found = -1;
        for (int64_t i = 0; i < out->num_fields; i++)
            if (pfd_json_equals(&name, out->fields[i].name)) found = i;
        if (found < 0 || out->fields[found].blob >= 0)
            return pfd_json_refuse(json, "expected the blob fields, each once, before here");
        out->fields[found].blob = (int32_t)out->num_blobs++;
    }
    for (int64_t i = 0; i < out->num_fields && !json->problem; i++) {
        const mindrecord_field *field = &out->fields[i];
        if ((field->is_array || field->type == PFD_MINDRECORD_BYTES) != (field->blob >= 0))
            pfd_json_refuse(json, "expected the arrays and the fields of bytes, and no others, to "
                                  "be blob fields");
    }
    return !json->problem;
}

static int32_t parse_fields(pfd_json *json, mindrecord_header *out)
{
    char *room = out->text;
    pfd_json_text name;
    pfd_json_enter(json, '{');
    for (int64_t i = 0; pfd_json_member(json, &name); i++) {
        mindrecord_field *field = &out->fields[i];
        *field = (mindrecord_field){.name = room, .blob = -1};
        field->name_size = pfd_json_decode(&name, room);
        room[field->name_size] = 0;
        room += field->name_size + 1;
        if (!parse_field(json, field)) return 0;
    }
    return !json->problem;
}

/* Parses [{"blob_fields": [...], "desc": ..., "schema": {...}}]. */
static pfd_status parse_schema(const pfd_host *host, pfd_json *json, mindrecord_header *out,
                               pfd_error *err)
{
    pfd_json_text key;
    pfd_json blobs = {0}, fields = {0};
    int64_t bytes = 0;
    pfd_json_enter(json, '[');
    if (pfd_json_element(json)) {
        pfd_json_enter(json, '{');
        while (pfd_json_member(json, &key)) {
            if (pfd_json_equals(&key, "blob_fields")) blobs = *json;
            if (pfd_json_equals(&key, "schema")) fields = *json;
            pfd_json_skip(json);
        }
    }
    out->num_fields = fields.data ? count(fields, '{', &bytes) : -1;
    if (!json->problem &&
        (!blobs.data || out->num_fields < 1 || out->num_fields > MOST_FIELDS ||
         pfd_json_element(json)))
        pfd_json_refuse(json, "expected one schema with blob_fields and fields");
    if (json->problem) return PFD_CORRUPT_DATA;
    out->fields = calloc((size_t)out->num_fields, sizeof *out->fields);
    out->text = malloc((size_t)bytes);
    if (!out->fields || !out->text)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the fields of MindRecord");
    if (!parse_fields(&fields, out)) *json = fields;
    else if (!parse_blobs(&blobs, out)) *json = blobs;
    return json->problem ? PFD_CORRUPT_DATA : PFD_OK;
}

/* ---- The pages in the header ----------------------------------------------------------------- */

static int32_t parse_groups(pfd_json *json, mindrecord_header *out, mindrecord_page *page)
{
    pfd_json_text key;
    page->first_group = out->num_groups;
    pfd_json_enter(json, '[');
    while (pfd_json_element(json)) {
        mindrecord_group group = {-1, -1};
        pfd_json_enter(json, '{');
        while (pfd_json_member(json, &key)) {
            if (pfd_json_equals(&key, "id")) pfd_json_int64(json, &group.blob_page);
            else if (pfd_json_equals(&key, "offset")) pfd_json_int64(json, &group.offset);
            else pfd_json_skip(json);
        }
        if (!json->problem && (group.blob_page < 0 || group.offset < 0))
            pfd_json_refuse(json, "expected a row group with id and offset before here");
        if (out->groups) out->groups[out->num_groups] = group;
        out->num_groups++;
        page->num_groups++;
    }
    return !json->problem;
}

static int32_t parse_page_type(pfd_json *json, mindrecord_page *page)
{
    pfd_json_text type;
    if (!pfd_json_string(json, &type)) return 0;
    page->is_raw = pfd_json_equals(&type, "RAW_DATA");
    return page->is_raw || pfd_json_equals(&type, "BLOB_DATA") ||
           pfd_json_refuse(json, "expected a page of type RAW_DATA or BLOB_DATA before here");
}

static int32_t parse_page(pfd_json *json, mindrecord_header *out, mindrecord_page *page)
{
    pfd_json_text key;
    int64_t shard = -1;
    *page = (mindrecord_page){.number = -1, .type_number = -1, .used = -1, .end_row = -1,
                              .is_raw = -1};
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "page_id")) pfd_json_int64(json, &page->number);
        else if (pfd_json_equals(&key, "page_type_id")) pfd_json_int64(json, &page->type_number);
        else if (pfd_json_equals(&key, "page_type")) parse_page_type(json, page);
        else if (pfd_json_equals(&key, "page_size")) pfd_json_int64(json, &page->used);
        else if (pfd_json_equals(&key, "start_row_id")) pfd_json_int64(json, &page->first_row);
        else if (pfd_json_equals(&key, "end_row_id")) pfd_json_int64(json, &page->end_row);
        else if (pfd_json_equals(&key, "row_group_ids")) parse_groups(json, out, page);
        else if (pfd_json_equals(&key, "shard_id")) pfd_json_int64(json, &shard);
        else pfd_json_skip(json);
    }
    if (!json->problem && (page->number < 0 || page->type_number < 0 || page->used < 0 ||
                           page->is_raw < 0 || page->first_row < 0 ||
                           page->end_row < page->first_row || page->end_row > UINT32_MAX * 1024ll))
        pfd_json_refuse(json, "expected a page with page_id, page_type, page_type_id, page_size "
                              "and rows before here");
    if (!json->problem && shard != out->shard)
        pfd_json_refuse(json, "expected a page of this shard before here");
    return !json->problem;
}

/* Counts pages and row groups, and fills them in if their arrays have been allocated. */
static int32_t walk_pages(pfd_json json, mindrecord_header *out, pfd_json *failed)
{
    mindrecord_page page;
    out->num_pages = out->num_groups = 0;
    pfd_json_enter(&json, '[');
    while (pfd_json_element(&json) && parse_page(&json, out, &page)) {
        if (out->pages) out->pages[out->num_pages] = page;
        if (++out->num_pages > MOST_PAGES)
            pfd_json_refuse(&json, "expected no more than 2^24 pages");
    }
    *failed = json;
    return !json.problem;
}

static int by_type_and_number(const void *a, const void *b)
{
    const mindrecord_page *x = a, *y = b;
    if (x->is_raw != y->is_raw) return x->is_raw - y->is_raw;
    return (x->type_number > y->type_number) - (x->type_number < y->type_number);
}

/* Checks that page numbers and rows follow each other without gaps, and that pages fit into their
 * slots.  Returns what is wrong, or NULL. */
static const char *check_pages(mindrecord_header *out, uint8_t *seen)
{
    int64_t row = 0, number = 0;
    for (int64_t i = 0; i < out->num_pages; i++) {
        const mindrecord_page *page = &out->pages[i];
        if (page->number >= out->num_pages || seen[page->number]++)
            return "expected the pages to have page_id 0, 1, 2 and so on, each once";
        if (page->used > out->page_size) return "expected no page to use more than page_size bytes";
        if (i > 0 && page->is_raw != out->pages[i - 1].is_raw) number = 0;
        if (page->type_number != number++)
            return "expected the pages of a type to have page_type_id 0, 1, 2 and so on";
        if (page->is_raw) continue;
        if (page->first_row != row) return "expected the rows of blob pages to follow each other";
        row = page->end_row;
        out->num_blob_pages++;
    }
    out->num_rows = row;
    return NULL;
}

static pfd_status parse_pages(const pfd_host *host, pfd_json *json, mindrecord_header *out,
                              pfd_error *err)
{
    pfd_json at = *json;
    if (!walk_pages(at, out, json)) return PFD_CORRUPT_DATA;
    size_t pages = (size_t)out->num_pages + 1, groups = (size_t)out->num_groups + 1;
    out->pages = calloc(pages, sizeof *out->pages);
    out->groups = calloc(groups, sizeof *out->groups);
    uint8_t *seen = calloc(pages, 1);
    const char *problem = NULL;
    if (out->pages && out->groups && seen) {
        walk_pages(at, out, json);
        qsort(out->pages, (size_t)out->num_pages, sizeof *out->pages, by_type_and_number);
        problem = check_pages(out, seen);
    }
    free(seen);
    if (!out->pages || !out->groups || !seen)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the pages of MindRecord");
    if (problem) pfd_json_refuse(json, problem);
    return problem ? PFD_CORRUPT_DATA : PFD_OK;
}

/* ---- The whole header ------------------------------------------------------------------------ */

static int32_t parse_members(pfd_json *json, mindrecord_header *out, header_members *found)
{
    pfd_json_text key;
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "header_size")) pfd_json_int64(json, &out->header_size);
        else if (pfd_json_equals(&key, "page_size")) pfd_json_int64(json, &out->page_size);
        else if (pfd_json_equals(&key, "shard_id")) pfd_json_int64(json, &out->shard);
        else {
            if (pfd_json_equals(&key, "page")) found->pages = *json;
            if (pfd_json_equals(&key, "schema")) found->schema = *json;
            if (pfd_json_equals(&key, "version")) found->version = *json;
            if (pfd_json_equals(&key, "shard_addresses")) out->addresses = *json;
            pfd_json_skip(json);
        }
    }
    if (pfd_json_end(json) && (!found->pages.data || !found->schema.data || !found->version.data ||
                               !out->addresses.data))
        pfd_json_refuse(json, "expected the header of a MindRecord file: page, schema, "
                              "shard_addresses and version before here");
    return !json->problem;
}

static int32_t check_sizes(pfd_json *json, mindrecord_header *out, int64_t size)
{
    pfd_json addresses = out->addresses;
    pfd_json_text name;
    pfd_json_enter(&addresses, '[');
    while (pfd_json_element(&addresses) && pfd_json_string(&addresses, &name)) out->num_shards++;
    if (addresses.problem) *json = addresses;
    else if (out->header_size < size + 8 ||
             out->header_size > PFD_MINDRECORD_MOST_HEADER_BYTES)
        pfd_json_refuse(json, "expected a header_size of at most 128 MiB, not below the header's "
                              "size");
    else if (out->page_size < 1 || out->page_size > 1ll << 30)
        pfd_json_refuse(json, "expected a page_size up to 1 GiB");
    else if (out->shard < 0 || out->shard >= out->num_shards)
        pfd_json_refuse(json, "expected a shard_id below the number of shard_addresses");
    return !json->problem;
}

static pfd_status parse_version(pfd_json *json, mindrecord_header *out)
{
    pfd_json_text version;
    if (!pfd_json_string(json, &version)) return PFD_CORRUPT_DATA;
    out->packs_integers = pfd_json_equals(&version, "3.0");
    if (out->packs_integers || pfd_json_equals(&version, "2.0")) return PFD_OK;
    pfd_json_refuse(json, "expected version 2.0 or 3.0");
    return PFD_UNSUPPORTED;
}

/* Parses a header.  PFD_CORRUPT_DATA, PFD_UNSUPPORTED: err->byte is an offset in the JSON.  The
 * caller frees *out in any case. */
static pfd_status mindrecord_header_parse(const pfd_host *host, const uint8_t *text, int64_t size,
                                          mindrecord_header *out, pfd_error *err)
{
    *out = (mindrecord_header){.shard = -1};
    header_members found = {0};
    pfd_json json = pfd_json_begin(text, size);
    pfd_status status = PFD_CORRUPT_DATA;
    if (parse_members(&json, out, &found) && check_sizes(&json, out, size)) {
        status = parse_version(&found.version, out);
        if (status != PFD_OK) json = found.version;
    }
    if (status == PFD_OK) {
        status = parse_schema(host, &found.schema, out, err);
        json = found.schema;
    }
    if (status == PFD_OK) {
        status = parse_pages(host, &found.pages, out, err);
        json = found.pages;
    }
    if (status == PFD_OK || status == PFD_OUT_OF_MEMORY) return status;
    return host->fail_row(err, -1, json.at, status, "the header's JSON: %s", json.problem);
}

static void mindrecord_header_free(mindrecord_header *header)
{
    free(header->fields);
    free(header->pages);
    free(header->groups);
    free(header->text);
    *header = (mindrecord_header){.shard = -1};
}

/* Whether the rows of two shards have the same fields, in the same form. */
static int32_t mindrecord_same_fields(const mindrecord_header *a, const mindrecord_header *b)
{
    if (a->num_fields != b->num_fields || a->num_blobs != b->num_blobs ||
        a->packs_integers != b->packs_integers)
        return 0;
    for (int64_t i = 0; i < a->num_fields; i++) {
        const mindrecord_field *x = &a->fields[i], *y = &b->fields[i];
        if (strcmp(x->name, y->name) != 0 || x->type != y->type || x->blob != y->blob ||
            x->ndim != y->ndim || memcmp(x->shape, y->shape, sizeof x->shape) != 0)
            return 0;
    }
    return 1;
}

/* ---- Pages: where the rows of a shard are ---------------------------------------------------- */

/* A row is a raw row (its scalar fields) in a raw page and a blob in a blob page.  Both kinds of
 * page are lists; an element is a length (uint64) and that many bytes.  Opening walks the lists
 * once and keeps 8 bytes per row: where its two sections begin.  If the lengths do not end at the
 * end of their page, it fails with PFD_CORRUPT_DATA. */

/* The rows of one blob page. */
typedef struct mindrecord_span {
    int64_t first_row;
    int64_t raw_begin, raw_end; /* in the file */
    int64_t blob_begin, blob_end;
} mindrecord_span;

typedef struct mindrecord_rows {
    mindrecord_span *spans;     /* owned; one more, for num_rows */
    uint32_t *raw, *blobs;      /* owned; relative to raw_begin and blob_begin of the span */
    int64_t num_spans, num_rows;
} mindrecord_rows;

/* A section of a file. */
typedef struct mindrecord_section {
    int64_t offset, size;
} mindrecord_section;

enum {
    LENGTH = 8,
    WINDOW = 16384,     /* bytes read at once of a file that is not mapped */
    ROWS_PER_LOOK = 4096 /* rows between two checks whether the loader is closing */
};

/* A walk over the rows of a page. */
typedef struct walk {
    const pfd_host *host;
    const pfd_file *file;
    const pfd_scratch *bounds;
    pfd_scratch *scratch;
    const uint8_t *window;
    int64_t begin, end; /* of the window, in the file */
} walk;

/* Moves the window to `offset`; at least LENGTH bytes follow in the page. */
static pfd_status move_window(walk *w, int64_t offset, int64_t page_end, pfd_error *err)
{
    int64_t size = page_end - offset < WINDOW ? page_end - offset : WINDOW;
    if (pfd_file_data(w->file)) size = page_end - offset;
    pfd_scratch_reset(w->scratch);
    PFD_TRY(pfd_file_read(w->file, offset, size, w->scratch, &w->window, err));
    w->begin = offset;
    w->end = offset + size;
    return PFD_OK;
}

/* Finds where n rows begin; the first begins at `begin`, and the last must end at `end`. */
static pfd_status walk_rows(walk *w, int64_t begin, int64_t end, int64_t n, uint32_t *places,
                            const char *what, pfd_error *err)
{
    int64_t at = begin;
    w->begin = w->end = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i % ROWS_PER_LOOK == 0 && pfd_scratch_is_cancelled(w->bounds))
            return w->host->fail(err, PFD_CANCELLED, "the loader is closing");
        if (end - at < LENGTH)
            return w->host->fail_file(
                err, w->file, at, PFD_CORRUPT_DATA,
                "the page ends here, but %s %" PRId64 " of %" PRId64
                " is expected; its header and its rows do not belong together",
                what, i, n);
        if (at < w->begin || at + LENGTH > w->end) PFD_TRY(move_window(w, at, end, err));
        uint64_t length = pfd_load_le64(w->window + (at - w->begin));
        if (length > (uint64_t)(end - at - LENGTH))
            return w->host->fail_file(err, w->file, at, PFD_CORRUPT_DATA,
                                      "the length of %s %" PRId64 " is %" PRIu64 ", but its page "
                                      "has only %" PRId64 " more bytes",
                                      what, i, length, end - at - LENGTH);
        places[i] = (uint32_t)(at - begin);
        at += LENGTH + (int64_t)length;
    }
    if (at == end) return PFD_OK;
    return w->host->fail_file(err, w->file, at, PFD_CORRUPT_DATA,
                              "%" PRId64 " bytes follow the last %s in its page; the header and "
                              "the rows of the page do not belong together",
                              end - at, what);
}

/* Every page lies in the file, which ends with the last page, or with the room for it where a
 * program has filled the room up. */
static pfd_status check_file(const pfd_host *host, const pfd_file *file,
                             const mindrecord_header *header, pfd_error *err)
{
    int64_t last = header->header_size;
    for (int64_t i = 0; i < header->num_pages; i++) {
        const mindrecord_page *page = &header->pages[i];
        int64_t begin = header->header_size + page->number * header->page_size;
        if (begin + page->used > file->size)
            return host->fail_file(err, file, file->size, PFD_CORRUPT_DATA,
                                   "the file ends here, but page %" PRId64
                                   " is from byte %" PRId64 " to %" PRId64 "; is it truncated?",
                                   page->number, begin, begin + page->used);
        if (page->number == header->num_pages - 1) last = begin + page->used;
    }
    int64_t filled = header->header_size + header->num_pages * header->page_size;
    if (file->size <= last || file->size == filled) return PFD_OK;
    return host->fail_file(err, file, last, PFD_CORRUPT_DATA,
                           "the last page ends here, but %" PRId64 " bytes follow; does the header "
                           "belong to this file?",
                           file->size - last);
}

/* Finds the raw rows of each blob page. */
static pfd_status find_groups(const pfd_host *host, const pfd_file *file,
                              const mindrecord_header *header, mindrecord_rows *out,
                              pfd_error *err)
{
    const char *problem = NULL;
    for (int64_t i = header->num_blob_pages; i < header->num_pages && !problem; i++) {
        const mindrecord_page *page = &header->pages[i];
        int64_t begin = header->header_size + page->number * header->page_size;
        for (int64_t k = 0; k < page->num_groups && !problem; k++) {
            const mindrecord_group *group = &header->groups[page->first_group + k];
            int64_t end = k + 1 < page->num_groups ? group[1].offset : page->used;
            if (group->blob_page >= header->num_blob_pages)
                problem = "a row group refers to a blob page that does not exist";
            else if (out->spans[group->blob_page].raw_begin)
                problem = "two row groups refer to the same blob page";
            else if (group->offset > end || end > page->used)
                problem = "the row groups of a page are not in order, or lie outside of it";
            if (problem) break;
            out->spans[group->blob_page].raw_begin = begin + group->offset;
            out->spans[group->blob_page].raw_end = begin + end;
        }
    }
    for (int64_t i = 0; i < header->num_blob_pages && !problem; i++)
        if (!out->spans[i].raw_begin && header->pages[i].end_row > header->pages[i].first_row)
            problem = "a blob page has no row group with its raw rows";
    return problem ? host->fail_file(err, file, 0, PFD_CORRUPT_DATA, "the header: %s", problem)
                   : PFD_OK;
}

static pfd_status walk_spans(walk *w, const mindrecord_header *header, mindrecord_rows *out,
                             pfd_error *err)
{
    for (int64_t i = 0; i < out->num_spans; i++) {
        mindrecord_span *span = &out->spans[i];
        const mindrecord_page *page = &header->pages[i];
        int64_t n = page->end_row - page->first_row;
        span->first_row = page->first_row;
        span->blob_begin = header->header_size + page->number * header->page_size;
        span->blob_end = span->blob_begin + page->used;
        PFD_TRY(walk_rows(w, span->raw_begin, span->raw_end, n, out->raw + page->first_row,
                          "raw row", err));
        PFD_TRY(walk_rows(w, span->blob_begin, span->blob_end, n, out->blobs + page->first_row,
                          "blob", err));
    }
    return PFD_OK;
}

/* Each row has two lengths in the file: the count is checked before it sizes any memory. */
static pfd_status check_rows(const pfd_host *host, const pfd_file *file,
                             const mindrecord_header *header, pfd_error *err)
{
    if (header->num_rows <= file->size / (2 * LENGTH)) return PFD_OK;
    return host->fail_file(err, file, 0, PFD_CORRUPT_DATA,
                           "the header counts %" PRId64 " rows, more than fit into %" PRId64
                           " bytes",
                           header->num_rows, file->size);
}

/* Finds the rows of a shard.  `scratch` is passed to is_cancelled().  The caller frees *out in any
 * case. */
static pfd_status mindrecord_rows_find(const pfd_host *host, const pfd_file *file,
                                       const mindrecord_header *header,
                                       const pfd_scratch *scratch, mindrecord_rows *out,
                                       pfd_error *err)
{
    *out = (mindrecord_rows){.num_spans = header->num_blob_pages, .num_rows = header->num_rows};
    PFD_TRY(check_file(host, file, header, err));
    PFD_TRY(check_rows(host, file, header, err));
    out->spans = calloc((size_t)out->num_spans + 1, sizeof *out->spans);
    out->raw = malloc(((size_t)out->num_rows + 1) * sizeof *out->raw);
    out->blobs = malloc(((size_t)out->num_rows + 1) * sizeof *out->blobs);
    if (!out->spans || !out->raw || !out->blobs)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the places of rows");
    PFD_TRY(find_groups(host, file, header, out, err));
    walk w = {.host = host, .file = file, .bounds = scratch, .scratch = pfd_scratch_create()};
    if (!w.scratch) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a window of a file");
    pfd_status status = walk_spans(&w, header, out, err);
    pfd_scratch_free(w.scratch);
    out->spans[out->num_spans].first_row = out->num_rows;
    return status;
}

/* Finds the two sections of a row, without the lengths in front of them. */
static void mindrecord_row_at(const mindrecord_rows *rows, int64_t row, mindrecord_section *raw,
                              mindrecord_section *blob)
{
    const mindrecord_span *span =
        rows->spans + pfd_last_at_most(&rows->spans->first_row, (int64_t)sizeof *rows->spans, 0,
                                       rows->num_spans, row);
    int32_t is_last = row + 1 == span[1].first_row;
    raw->offset = span->raw_begin + rows->raw[row] + LENGTH;
    blob->offset = span->blob_begin + rows->blobs[row] + LENGTH;
    int64_t raw_end = is_last ? span->raw_end : span->raw_begin + rows->raw[row + 1];
    raw->size = raw_end - raw->offset;
    int64_t blob_end = is_last ? span->blob_end : span->blob_begin + rows->blobs[row + 1];
    blob->size = blob_end - blob->offset;
}

/* ---- Choosing fields ------------------------------------------------------------------------- */

/* A chosen field, and the output that it goes to. */
typedef struct mindrecord_choice {
    const mindrecord_field *field;
    int64_t output;
} mindrecord_choice;

static int32_t is_bytes(const mindrecord_field *field)
{
    return field->type == PFD_MINDRECORD_STRING || field->type == PFD_MINDRECORD_BYTES;
}

/* Writes the type of a field as in a list of fields, "int64[?]" or "bytes".  Returns `out`,
 * which has at least 120 bytes. */
static const char *mindrecord_field_type(const mindrecord_field *field, char *out,
                                         size_t capacity)
{
    pfd_row_type type = {.dtype = field->type, .ndim = field->ndim};
    if (is_bytes(field)) return memcpy(out, "bytes", sizeof "bytes");
    memcpy(type.shape, field->shape, sizeof type.shape);
    return pfd_format_field_type(&type, out, capacity);
}

static int32_t fits(const pfd_field_spec *spec, const pfd_row_type *type,
                    const mindrecord_field *field)
{
    if (is_bytes(field)) {
        int32_t varies = 0;
        for (int32_t i = 0; i < type->ndim; i++) varies |= type->shape[i] < 0;
        return type->dtype == PFD_UINT8 && (type->ndim == 1 || (type->ndim > 1 && !varies));
    }
    if (!spec->has_type || type->dtype != field->type || type->ndim != field->ndim) return 0;
    for (int32_t i = 0; i < field->ndim; i++)
        if (type->shape[i] >= 0 && field->shape[i] >= 0 && type->shape[i] != field->shape[i])
            return 0;
    return 1;
}

static const char *list_fields(const mindrecord_header *header, char *out, size_t capacity)
{
    size_t used = 0;
    for (int64_t i = 0; i < header->num_fields; i++)
        used = pfd_add_name(out, capacity, used, header->fields[i].name);
    return used ? out : "none";
}

static pfd_status choose_one(const pfd_host *host, const char *attr, const pfd_field_spec *spec,
                             const pfd_row_type *type, const mindrecord_header *header,
                             const mindrecord_field **out, pfd_error *err)
{
    char names[512], shown[256], right[256];
    *out = NULL;
    for (int64_t i = 0; i < header->num_fields; i++)
        if (header->fields[i].name_size == spec->key_size &&
            memcmp(header->fields[i].name, spec->key, (size_t)spec->key_size) == 0)
            *out = &header->fields[i];
    if (!*out)
        return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                               ": the shards have no field '%.*s'; they have %s",
                               (int)spec->key_size, spec->key,
                               list_fields(header, names, sizeof names));
    if (fits(spec, type, *out)) return PFD_OK;
    return host->fail_attr(
        err, attr, NULL, PFD_INVALID_ARGUMENT,
        ": the field '%.100s' is %s in the shards and cannot be read as %s; write '%.*s:%s'",
        (*out)->name, mindrecord_field_type(*out, right, sizeof right),
        spec->has_type ? pfd_format_row_type(type, shown, sizeof shown) : "without a type",
        (int)spec->key_size, spec->key, right);
}

static int by_place(const void *a, const void *b)
{
    const mindrecord_choice *x = a, *y = b;
    if (x->field->blob != y->field->blob) return x->field->blob - y->field->blob;
    return (x->output > y->output) - (x->output < y->output);
}

/* Finds the n fields, and compares their types with those of the outputs.  `out` has room for n
 * choices; the *num_raw fields of the raw row come first, the others are in the order of the
 * blob. */
static pfd_status mindrecord_choose(const pfd_host *host, const char *attr,
                                    const pfd_field_spec *specs, const pfd_row_type *types,
                                    int64_t n, const mindrecord_header *header,
                                    mindrecord_choice *out, int64_t *num_raw, pfd_error *err)
{
    *num_raw = 0;
    for (int64_t i = 0; i < n; i++) {
        out[i].output = i;
        PFD_TRY(choose_one(host, attr, &specs[i], &types[i], header, &out[i].field, err));
        *num_raw += out[i].field->blob < 0;
    }
    qsort(out, (size_t)n, sizeof *out, by_place);
    return PFD_OK;
}

/* ---- One value ------------------------------------------------------------------------------- */

/* The bytes of a section of a row, and the places of its values: cells[i] is for output i, and
 * points into the bytes, the scratch, or itself. */
typedef struct mindrecord_bytes {
    const pfd_host *host;
    const mindrecord_header *header;
    const pfd_row_type *types;
    const uint8_t *data;
    int64_t size;
    pfd_scratch *scratch;
    pfd_field_cell *cells;
} mindrecord_bytes;

__attribute__((format(printf, 5, 6))) static pfd_status
fail_field(const mindrecord_bytes *from, int64_t at, const mindrecord_field *field,
           pfd_error *err, const char *format, ...)
{
    char found[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(found, sizeof found, format, args);
    va_end(args);
    return from->host->fail_row(err, 0, at, PFD_CORRUPT_DATA, "the field '%.100s' %s", field->name,
                                found);
}

/* Sets the bytes of a string or of bytes, as many as the output has. */
static pfd_status set_bytes(const mindrecord_bytes *from, int64_t at,
                            const mindrecord_choice *choice, const uint8_t *data, int64_t size,
                            pfd_error *err)
{
    const pfd_row_type *type = &from->types[choice->output];
    int64_t expected = 1;
    for (int32_t i = 0; i < type->ndim; i++) {
        if (type->shape[i] < 0) expected = size;
        else if (__builtin_mul_overflow(expected, type->shape[i], &expected)) expected = -1;
    }
    if (expected != size)
        return fail_field(from, at, choice->field, err,
                          "has %" PRId64 " bytes here, but the output %" PRId64, size, expected);
    from->cells[choice->output].data = data;
    from->cells[choice->output].size = size;
    return PFD_OK;
}

static void set_number(pfd_field_cell *cell, const void *value, int64_t size)
{
    memcpy(cell->shape, value, (size_t)size);
    cell->data = cell->shape;
    cell->size = size;
}

static pfd_status set_integer(const mindrecord_bytes *from, int64_t at,
                              const mindrecord_choice *choice, const pfd_msgpack_value *value,
                              pfd_error *err)
{
    pfd_field_cell *cell = &from->cells[choice->output];
    int32_t is_wide = choice->field->type == PFD_INT64;
    if (value->kind != PFD_MSGPACK_INT ||
        (!is_wide && (value->integer < INT32_MIN || value->integer > INT32_MAX)))
        return fail_field(from, at, choice->field, err, "is %s, which is not a %s",
                          pfd_msgpack_kind_name(value->kind), is_wide ? "int64" : "int32");
    int32_t narrow = (int32_t)value->integer;
    if (is_wide) set_number(cell, &value->integer, (int64_t)sizeof value->integer);
    else set_number(cell, &narrow, (int64_t)sizeof narrow);
    return PFD_OK;
}

/* Accepts integers too: some writers store 3.0 as an integer. */
static pfd_status set_float(const mindrecord_bytes *from, int64_t at,
                            const mindrecord_choice *choice, const pfd_msgpack_value *value,
                            pfd_error *err)
{
    double number = value->number;
    if (value->kind == PFD_MSGPACK_INT) number = (double)value->integer;
    else if (value->kind == PFD_MSGPACK_UINT64) number = (double)(uint64_t)value->integer;
    else if (value->kind != PFD_MSGPACK_FLOAT)
        return fail_field(from, at, choice->field, err, "is %s; a number was expected",
                          pfd_msgpack_kind_name(value->kind));
    float narrow = (float)number;
    pfd_field_cell *cell = &from->cells[choice->output];
    if (choice->field->type == PFD_FLOAT64) set_number(cell, &number, (int64_t)sizeof number);
    else set_number(cell, &narrow, (int64_t)sizeof narrow);
    return PFD_OK;
}

static pfd_status set_value(const mindrecord_bytes *from, int64_t at,
                            const mindrecord_choice *choice, const pfd_msgpack_value *value,
                            pfd_error *err)
{
    int32_t type = choice->field->type;
    if (type == PFD_INT32 || type == PFD_INT64) return set_integer(from, at, choice, value, err);
    if (type == PFD_FLOAT32 || type == PFD_FLOAT64) return set_float(from, at, choice, value, err);
    if (value->kind != PFD_MSGPACK_STRING && value->kind != PFD_MSGPACK_BINARY)
        return fail_field(from, at, choice->field, err, "is %s; a string was expected",
                          pfd_msgpack_kind_name(value->kind));
    return set_bytes(from, at, choice, value->data, value->size, err);
}

/* ---- The raw row ----------------------------------------------------------------------------- */

/* The raw row is a MessagePack map of the scalar fields. In errors about a raw row or a blob
 * (PFD_CORRUPT_DATA), err->byte is an offset in its bytes. */

static pfd_status fail_msgpack(const mindrecord_bytes *from, const pfd_msgpack *cursor,
                               pfd_error *err)
{
    return from->host->fail_row(err, 0, cursor->at, PFD_CORRUPT_DATA, "the raw row: %s",
                                cursor->problem ? cursor->problem : "expected a map of its fields");
}

/* Reads one field of the map for all outputs that want it. */
static pfd_status read_pair(const mindrecord_bytes *from, pfd_msgpack *cursor,
                            const mindrecord_choice *choices, int64_t n, pfd_error *err)
{
    pfd_msgpack_value key, value;
    int32_t is_read = 0;
    if (!pfd_msgpack_next(cursor, &key) || key.kind != PFD_MSGPACK_STRING)
        return fail_msgpack(from, cursor, err);
    int64_t at = cursor->at;
    for (int64_t i = 0; i < n; i++) {
        const mindrecord_field *field = choices[i].field;
        if (field->name_size != key.size || memcmp(field->name, key.data, (size_t)key.size) != 0)
            continue;
        if (!is_read && !pfd_msgpack_next(cursor, &value)) return fail_msgpack(from, cursor, err);
        is_read = 1;
        PFD_TRY(set_value(from, at, &choices[i], &value, err));
    }
    if (!is_read && !pfd_msgpack_skip(cursor)) return fail_msgpack(from, cursor, err);
    return PFD_OK;
}

static pfd_status mindrecord_read_raw(const mindrecord_bytes *from,
                                      const mindrecord_choice *choices, int64_t n, pfd_error *err)
{
    pfd_msgpack cursor = {.data = from->data, .size = from->size};
    pfd_msgpack_value map;
    if (!pfd_msgpack_next(&cursor, &map) || map.kind != PFD_MSGPACK_MAP) {
        if (!cursor.problem) cursor.at = 0;
        return fail_msgpack(from, &cursor, err);
    }
    for (int64_t i = 0; i < n; i++) from->cells[choices[i].output].data = NULL;
    for (int64_t i = 0; i < map.size; i++) PFD_TRY(read_pair(from, &cursor, choices, n, err));
    if (cursor.at != from->size)
        return from->host->fail_row(err, 0, cursor.at, PFD_CORRUPT_DATA,
                                    "%" PRId64 " bytes follow the fields of the raw row",
                                    from->size - cursor.at);
    for (int64_t i = 0; i < n; i++)
        if (!from->cells[choices[i].output].data)
            return fail_field(from, 0, choices[i].field, err, "is not in the raw row");
    return PFD_OK;
}

/* ---- The blob -------------------------------------------------------------------------------- */

/* The blob has the other fields. A single field is its bytes alone; of several fields, each is a
 * length (uint64, big-endian) and its bytes. An array's bytes are its elements; since version 3.0,
 * integers are packed. */

/* Computes the shape of an array from its number of elements. */
static pfd_status set_shape(const mindrecord_bytes *from, int64_t at,
                            const mindrecord_choice *choice, int64_t elements, pfd_error *err)
{
    const mindrecord_field *field = choice->field;
    const pfd_row_type *type = &from->types[choice->output];
    pfd_field_cell *cell = &from->cells[choice->output];
    int64_t known = 1, varying = -1;
    for (int32_t i = 0; i < field->ndim; i++) {
        cell->shape[i] = field->shape[i];
        if (field->shape[i] < 0) varying = i;
        else if (__builtin_mul_overflow(known, field->shape[i], &known)) known = INT64_MAX;
    }
    if (varying >= 0 && elements % known == 0) cell->shape[varying] = elements / known;
    else if (varying >= 0 || elements != known)
        return fail_field(from, at, field, err,
                          "has %" PRId64 " elements here, which does not fit its shape", elements);
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] >= 0 && type->shape[i] != cell->shape[i])
            return fail_field(from, at, field, err,
                              "has %" PRId64 " along dimension %d, but the output %" PRId64,
                              cell->shape[i], i, type->shape[i]);
    return PFD_OK;
}

static int64_t load_big_endian(const uint8_t *at, int32_t bytes)
{
    uint64_t value = pfd_load_be(at, bytes);
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* A little-endian signed integer of 1, 2, 4 or 8 bytes. */
static int64_t load_signed(const uint8_t *at, int32_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, (size_t)bytes);
    int32_t unused = 64 - 8 * bytes;
    return (int64_t)(value << unused) >> unused;
}

/* Unpacks integers of 1, 2, 4 or 8 bytes into integers of the field. Returns 0 if the packed
 * integers do not end where the bytes end. */
static int32_t unpack(const uint8_t *codes, const uint8_t *at, const uint8_t *end, int64_t n,
                      int32_t is_wide, void *out)
{
    int32_t *narrow = out;
    int64_t *wide = out;
    for (int64_t i = 0; i < n; i++) {
        int32_t bytes = 1 << (codes[i / 4] >> (6 - 2 * (i % 4)) & 3);
        if (end - at < bytes) return 0;
        int64_t value = load_signed(at, bytes);
        if (is_wide) wide[i] = value;
        else if (value < INT32_MIN || value > INT32_MAX) return 0;
        else narrow[i] = (int32_t)value;
        at += bytes;
    }
    return at == end;
}

/* Reads packed integers: their number n (uint32, big-endian); n codes of 2 bits, the highest bits
 * first, each the size of an integer; and n integers of these sizes. */
static pfd_status read_packed(const mindrecord_bytes *from, const mindrecord_choice *choice,
                              int64_t at, int64_t size, pfd_error *err)
{
    const uint8_t *data = from->data + at;
    int32_t is_wide = choice->field->type == PFD_INT64;
    int64_t item = is_wide ? 8 : 4, n = size >= 4 ? load_big_endian(data, 4) : 0;
    int64_t codes = (n + 3) / 4;
    if (size < 4 + codes + n)
        return fail_field(from, at, choice->field, err,
                          "counts %" PRId64 " integers, but has %" PRId64 " bytes", n, size);
    PFD_TRY(set_shape(from, at, choice, n, err));
    void *values = from->host->alloc(from->scratch, n * item);
    if (!values) return from->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for an array");
    if (!unpack(data + 4, data + 4 + codes, data + size, n, is_wide, values))
        return fail_field(from, at, choice->field, err,
                          "has packed integers that do not fit into its %" PRId64
                          " bytes, or into its type",
                          size);
    from->cells[choice->output].data = values;
    from->cells[choice->output].size = n * item;
    return PFD_OK;
}

static pfd_status read_blob_field(const mindrecord_bytes *from, const mindrecord_choice *choice,
                                  int64_t at, int64_t size, pfd_error *err)
{
    const mindrecord_field *field = choice->field;
    pfd_field_cell *cell = &from->cells[choice->output];
    if (!field->is_array) return set_bytes(from, at, choice, from->data + at, size, err);
    int32_t is_integer = field->type == PFD_INT32 || field->type == PFD_INT64;
    if (is_integer && from->header->packs_integers)
        return read_packed(from, choice, at, size, err);
    int64_t item = pfd_dtype_size(field->type);
    if (size % item)
        return fail_field(from, at, field, err,
                          "has %" PRId64 " bytes, which is not a whole number of elements", size);
    cell->data = from->data + at;
    cell->size = size;
    return set_shape(from, at, choice, size / item, err);
}

static pfd_status mindrecord_read_blob(const mindrecord_bytes *from,
                                       const mindrecord_choice *choices, int64_t n, pfd_error *err)
{
    int64_t num_blobs = from->header->num_blobs, k = 0, at = 0;
    for (int64_t i = 0; i < num_blobs; i++) {
        int64_t size = from->size;
        if (num_blobs > 1) {
            size = from->size - at >= 8 ? load_big_endian(from->data + at, 8) : INT64_MAX;
            at += 8;
        }
        if (size > from->size - at)
            return from->host->fail_row(err, 0, at < from->size ? at : from->size, PFD_CORRUPT_DATA,
                                        "value %" PRId64 " goes past the end of the blob, which "
                                        "has %" PRId64 " bytes",
                                        i, from->size);
        for (; k < n && choices[k].field->blob == i; k++)
            PFD_TRY(read_blob_field(from, &choices[k], at, size, err));
        at += size;
    }
    if (at == from->size) return PFD_OK;
    return from->host->fail_row(err, 0, at, PFD_CORRUPT_DATA,
                                "%" PRId64 " bytes follow the fields of the blob",
                                from->size - at);
}

/* ---- Attrs ----------------------------------------------------------------------------------- */

typedef struct mindrecord_attrs {
    pfd_list_string columns;
    int32_t whole_set;
} mindrecord_attrs;

typedef struct shard {
    const pfd_file *file;
    mindrecord_header header;
    mindrecord_rows rows;
    mindrecord_choice *choices; /* of raw rows, then of blobs */
    int64_t num_raw;
} shard;

typedef struct mindrecord {
    const pfd_host *host;
    int64_t num_outputs, num_shards;
    pfd_field_spec *specs;
    pfd_row_type *types;
    shard *shards;
    pfd_shard_table table;
} mindrecord;

static void close_mindrecord(void *source)
{
    mindrecord *self = source;
    for (int64_t i = 0; self->shards && i < self->num_shards; i++) {
        mindrecord_header_free(&self->shards[i].header);
        free(self->shards[i].rows.spans);
        free(self->shards[i].rows.raw);
        free(self->shards[i].rows.blobs);
        free(self->shards[i].choices);
    }
    pfd_shard_table_free(&self->table);
    free(self->shards);
    free(self->specs);
    free(self->types);
    free(self);
}

static pfd_status fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the shards of a MindRecord dataset");
}

/* ---- Records --------------------------------------------------------------------------------- */

PFD_SOURCE_NUMBER(num_records, mindrecord, table.num_records)

/* Finds the shard of a record, and the row of the shard. */
static const shard *find_row(const mindrecord *self, int64_t ordinal, int64_t *row)
{
    int64_t number = pfd_shard_of(&self->table, ordinal);
    *row = ordinal - self->table.first[number];
    return &self->shards[number];
}

/* Reads one of the two sections of a row.  Errors about it count bytes from out->offset. */
static pfd_status read_section(const shard *from, const mindrecord_section *section, int32_t is_raw,
                               mindrecord_bytes *bytes, int64_t num_outputs, pfd_record *out,
                               pfd_error *err)
{
    int64_t n = is_raw ? from->num_raw : num_outputs - from->num_raw;
    if (n == 0) return PFD_OK;
    const pfd_host *host = bytes->host;
    PFD_TRY(
        host->read(from->file, section->offset, section->size, bytes->scratch, &bytes->data, err));
    bytes->size = section->size;
    out->offset = section->offset;
    return is_raw ? mindrecord_read_raw(bytes, from->choices, n, err)
                  : mindrecord_read_blob(bytes, from->choices + from->num_raw, n, err);
}

static pfd_status make_record(const mindrecord *self, int64_t ordinal, pfd_field_cell *cells,
                              pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    int64_t row;
    const shard *from = find_row(self, ordinal, &row);
    mindrecord_section raw, blob;
    mindrecord_bytes bytes = {.host = self->host,
                              .header = &from->header,
                              .types = self->types,
                              .scratch = scratch,
                              .cells = cells};
    *out = (pfd_record){.ordinal = ordinal, .file = from->file->index};
    mindrecord_row_at(&from->rows, row, &raw, &blob);
    pfd_status status = read_section(from, &raw, 1, &bytes, self->num_outputs, out, err);
    if (status == PFD_OK)
        status = read_section(from, &blob, 0, &bytes, self->num_outputs, out, err);
    if (status == PFD_OK)
        return pfd_field_record_compose(self->host, self->types, cells, self->num_outputs, scratch,
                                        out, err);
    if (status != PFD_CORRUPT_DATA || err->row < 0) return status;
    pfd_error damage = *err; /* the host's own struct, never an older, smaller one */
    pfd_error_clear(err);
    return pfd_field_record_damaged(self->host, &damage, scratch, out, err);
}

/* In shuffled order, the place of a row and both of its sections are not in the cache; prefetches
 * them some rows ahead. */
static void prefetch(const mindrecord *self, const int64_t *ordinals, int64_t i, int64_t n)
{
    enum { PLACES_AHEAD = 16, ROWS_AHEAD = 8 };
    int64_t row;
    if (i + PLACES_AHEAD < n) {
        const shard *from = find_row(self, ordinals[i + PLACES_AHEAD], &row);
        __builtin_prefetch(&from->rows.raw[row]);
        __builtin_prefetch(&from->rows.blobs[row]);
    }
    if (i + ROWS_AHEAD >= n) return;
    const shard *from = find_row(self, ordinals[i + ROWS_AHEAD], &row);
    if (!pfd_file_data(from->file)) return;
    mindrecord_section sections[2];
    mindrecord_row_at(&from->rows, row, &sections[0], &sections[1]);
    for (int s = from->num_raw == 0; s < (from->num_raw < self->num_outputs ? 2 : 1); s++)
        pfd_shard_prefetch(from->file, sections[s].offset, sections[s].size);
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const mindrecord *self = source;
    pfd_field_cell *cells =
        self->host->alloc(scratch, self->num_outputs * (int64_t)sizeof *cells);
    if (!cells) return fail_memory(self->host, err);
    for (int64_t i = 0; i < n; i++) {
        prefetch(self, ordinals, i, n);
        PFD_TRY(make_record(self, ordinals[i], cells, scratch, &out[i], err));
    }
    return PFD_OK;
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const mindrecord *self = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t row;
        const shard *from = find_row(self, ordinals[i], &row);
        mindrecord_section raw, blob;
        mindrecord_row_at(&from->rows, row, &raw, &blob);
        int32_t has_blob = from->num_raw < self->num_outputs;
        out[i] = (pfd_place){.offset = has_blob ? blob.offset : raw.offset,
                             .file = from->file->index};
    }
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_mindrecord,
    .size = num_records,
    .at = at,
    .places = places,
};

/* ---- Opening shards -------------------------------------------------------------------------- */

/* Reports a header whose length is impossible, with the likely cause. */
static pfd_status fail_length(const pfd_host *host, const pfd_file *file, uint64_t length,
                              pfd_scratch *scratch, pfd_error *err)
{
    static const char trailer[] = "ENCRYPT";
    int64_t size = (int64_t)sizeof trailer - 1;
    const uint8_t *data;
    if (file->size >= 2 * size) {
        PFD_TRY(host->read(file, file->size - size, size, scratch, &data, err));
        if (memcmp(data, trailer, (size_t)size) == 0)
            return host->fail_file(err, file, -1, PFD_UNSUPPORTED,
                                         "this MindRecord file is encrypted; decrypt it with "
                                         "MindSpore (set_dec_mode, set_enc_key), and write it "
                                         "again without encryption");
    }
    char seems[100];
    return host->fail_file(
        err, file, 0, PFD_CORRUPT_DATA,
        "the length of the header is %" PRIu64 ", but the file has %" PRId64 " bytes%s",
        length, file->size,
        pfd_looks_like_hint(pfd_file_looks_like(host, file, scratch, "mindrecord"),
                            "; is this a MindRecord file?", seems, sizeof seems));
}

static pfd_status read_header(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                              mindrecord_header *out, pfd_error *err)
{
    const uint8_t *data;
    PFD_TRY(host->read(file, 0, LENGTH, scratch, &data, err));
    uint64_t length = pfd_load_le64(data);
    if (length > (uint64_t)(file->size - LENGTH) || length > PFD_MINDRECORD_MOST_HEADER_BYTES)
        return fail_length(host, file, length, scratch, err);
    PFD_TRY(host->read(file, LENGTH, (int64_t)length, scratch, &data, err));
    pfd_status status = mindrecord_header_parse(host, data, (int64_t)length, out, err);
    if (status == PFD_OK || status == PFD_OUT_OF_MEMORY) return status;
    pfd_error inner = *err;
    return host->fail_file(err, file, LENGTH + inner.byte, status, "%s", inner.message);
}

static pfd_status open_shard(mindrecord *self, const pfd_open_args *args, const pfd_file *file,
                             shard *out, pfd_error *err)
{
    out->file = file;
    PFD_TRY(read_header(args->host, file, args->scratch, &out->header, err));
    if (!mindrecord_same_fields(&out->header, &self->shards[0].header))
        return self->host->fail_file(err, file, LENGTH, PFD_CORRUPT_DATA,
                                     "the shard has other fields, or another version, than %s",
                                     self->shards[0].file->path);
    out->choices = calloc((size_t)self->num_outputs, sizeof *out->choices);
    if (!out->choices) return fail_memory(self->host, err);
    PFD_TRY(mindrecord_choose(self->host, "columns", self->specs, self->types, self->num_outputs,
                              &out->header, out->choices, &out->num_raw, err));
    return mindrecord_rows_find(self->host, file, &out->header, args->scratch, &out->rows, err);
}

static int by_number(const void *a, const void *b)
{
    const shard *x = a, *y = b;
    return (x->header.shard > y->header.shard) - (x->header.shard < y->header.shard);
}

/* Sorts the shards into the order of their set if companions() has added the rest of the set. */
static void sort_set(mindrecord *self)
{
    int64_t first = self->shards[0].header.shard, expected = 0;
    if (self->num_shards != self->shards[0].header.num_shards) return;
    for (int64_t i = 1; i < self->num_shards; i++, expected++) {
        expected += expected == first;
        if (self->shards[i].header.shard != expected) return;
    }
    qsort(self->shards, (size_t)self->num_shards, sizeof *self->shards, by_number);
}

static pfd_status open_all(mindrecord *self, const pfd_open_args *args, pfd_error *err)
{
    const mindrecord_attrs *attrs = args->attrs;
    PFD_TRY(pfd_field_record_types(args->host, "columns", &attrs->columns, self->specs,
                                   self->types, err));
    for (int64_t i = 0; i < args->num_files; i++) {
        self->num_shards = i + 1; /* counted first: it is freed even if open_shard() fails */
        PFD_TRY(open_shard(self, args, args->files[i], &self->shards[i], err));
    }
    if (attrs->whole_set && self->num_shards > 1) sort_set(self);
    for (int64_t i = 0; i < self->num_shards; i++)
        PFD_TRY(pfd_shard_table_add(&self->table, self->shards[i].rows.num_rows, err));
    return PFD_OK;
}

/* ---- The op ---------------------------------------------------------------------------------- */

/* Adds the other shards of a set, if the user gave one of them. */
static pfd_status add_set(const pfd_companion_args *args, const mindrecord_header *header,
                          pfd_error *err)
{
    pfd_json addresses = header->addresses;
    pfd_json_text name;
    pfd_json_enter(&addresses, '[');
    for (int64_t i = 0; pfd_json_element(&addresses) && pfd_json_string(&addresses, &name); i++) {
        if (i == header->shard) continue;
        char *text = malloc((size_t)name.size + 1), *path = NULL;
        int64_t size = text ? pfd_json_decode(&name, text) : 0;
        int32_t is_below = text && pfd_path_is_below(text, size);
        if (is_below) path = pfd_path_beside(args->paths[0], text, size);
        free(text);
        int32_t kind = PFD_PATH_MISSING;
        pfd_status status;
        if (text && !is_below)
            status = args->host->fail(err, PFD_CORRUPT_DATA,
                                      "%s lists a shard of its set that is not in its folder",
                                      args->paths[0]);
        else if (!path)
            status = fail_memory(args->host, err);
        else
            status = pfd_path_kind(path, &kind, err);
        if (status == PFD_OK && kind != PFD_PATH_FILE)
            status = args->host->fail(err, PFD_IO,
                                      "%s is one of %" PRId64 " shards, but %s does not exist; "
                                      "give the shards to be read, or set whole_set=False to read "
                                      "only this one",
                                      args->paths[0], header->num_shards, path);
        else if (status == PFD_OK)
            status = args->add(args->list, path, err);
        free(path);
        if (status != PFD_OK) return status;
    }
    return PFD_OK;
}

/* Adds the rest of the set.  Opening reports a damaged header, with its place. */
static pfd_status companions(const pfd_companion_args *args, pfd_error *err)
{
    const mindrecord_attrs *attrs = args->attrs;
    uint8_t *data;
    uint64_t length = UINT64_MAX;
    int64_t size, file_size;
    int32_t kind;
    if (args->num_paths != 1 || !attrs->whole_set) return PFD_OK;
    PFD_TRY(pfd_path_kind(args->paths[0], &kind, err));
    if (kind != PFD_PATH_FILE) return PFD_OK;
    PFD_TRY(pfd_file_start_read(args->paths[0], LENGTH, &data, &size, &file_size, err));
    if (size == LENGTH) length = pfd_load_le64(data);
    free(data);
    if (size < LENGTH || length > (uint64_t)(file_size - LENGTH) ||
        length > PFD_MINDRECORD_MOST_HEADER_BYTES)
        return PFD_OK;
    PFD_TRY(pfd_file_start_read(args->paths[0], LENGTH + (int64_t)length, &data, &size, &file_size,
                                err));
    mindrecord_header header;
    pfd_status status =
        mindrecord_header_parse(args->host, data + LENGTH, size - LENGTH, &header, err);
    if (status == PFD_OK) {
        status = add_set(args, &header, err);
    } else if (status != PFD_OUT_OF_MEMORY) {
        pfd_error_clear(err);
        status = PFD_OK;
    }
    mindrecord_header_free(&header);
    free(data);
    return status;
}

static pfd_status propose_fields(const pfd_propose_args *args, const pfd_file *file,
                                 const mindrecord_header *header, pfd_error *err)
{
    int64_t n = header->num_fields, bytes = n * (int64_t)sizeof(pfd_inferred_field);
    pfd_inferred_field *found = args->host->alloc(args->scratch, bytes);
    if (!found) return fail_memory(args->host, err);
    for (int64_t i = 0; i < n; i++) {
        const mindrecord_field *field = &header->fields[i];
        found[i].key = field->name;
        found[i].key_size = field->name_size;
        (void)mindrecord_field_type(field, found[i].type, sizeof found[i].type);
    }
    return pfd_inferred_fields_set(args, "columns", file, found, n, err);
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    const pfd_file *file;
    mindrecord_header header = {0}; /* freed even if it is not read */
    PFD_TRY(args->open(args->found, 0, &file, err));
    if (file->size == INT64_MAX)
        return args->host->fail_file(err, file, 0, PFD_UNSUPPORTED,
                                     "compressed MindRecord files cannot be read: decompress it");
    pfd_status status = read_header(args->host, file, args->scratch, &header, err);
    if (status == PFD_OK) status = propose_fields(args, file, &header, err);
    mindrecord_header_free(&header);
    return status;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const mindrecord_attrs *attrs = args->attrs;
    return pfd_field_record_types(args->host, "columns", &attrs->columns, NULL, args->outputs, err);
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const mindrecord_attrs *attrs = args->attrs;
    mindrecord *self = calloc(1, sizeof *self);
    if (!self) return fail_memory(args->host, err);
    self->host = args->host;
    self->num_outputs = attrs->columns.size;
    self->specs = calloc((size_t)self->num_outputs, sizeof *self->specs);
    self->types = calloc((size_t)self->num_outputs, sizeof *self->types);
    self->shards = calloc((size_t)args->num_files + 1, sizeof *self->shards);
    pfd_status status = self->specs && self->types && self->shards ? open_all(self, args, err)
                                                                   : fail_memory(args->host, err);
    return pfd_source_opened(status, &methods, self, out);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    return pfd_field_records_compute(args, args->num_outputs, err);
}

static const pfd_attr attrs[] = {
    PFD_FOUND_ATTR_ROW(mindrecord_attrs, columns, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "Fields to read, each [NAME=]FIELD[:TYPE]: 'label:int32', 'image' "
                       "(bytes), 'x:float32[?,3]'; if left out, all fields of the header."),
    PFD_BOOL_ATTR(mindrecord_attrs, whole_set, "true",
                  "If only one shard is given: whether to read all shards of its set, in the order "
                  "of the set."),
};

static const pfd_port outputs[] = {
    {"out", "A field: numbers and arrays with the type of the field, strings and bytes as "
            "ragged uint8."},
};

const pfd_op pfd_op_mindrecord_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "MindRecordReader",
    .aliases = "MindDataset",
    .doc = "Reads MindRecord files, MindSpore's format, of version 2.0 and 3.0. Give one shard of "
           "a set, or the shards to read; their .db files are not needed. Scalars are exact, even "
           "if the field is indexed. Numbers and arrays need their type in the field "
           "('ids:int64[?]'); string and bytes are ragged uint8. Encrypted files are refused.",
    PFD_OP_ATTRS(mindrecord_attrs, attrs),
    .outputs_attr = "columns",
    .same_without = pfd_always_same,
    .companions = companions,
    .propose = propose,
};
